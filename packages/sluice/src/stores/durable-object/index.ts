// The door `sluice/durable-object`.

export { type DurableObjectStore, type DurableObjectStoreOptions, durableObjectStore } from './durable-object-store.ts'
export type { ObjectNamespace, ObjectStub } from './object-namespace.ts'
export { type ObjectContext, SluiceObject, type SluiceObjectOptions } from './sluice-object.ts'
