// Server reflection of gRPC, version 1: tools such as grpcurl ask it for the services and their messages.
// Invariant: it needs no key, so its memory is bounded. No question is read before the caller has read earlier answers, and the number of
// callers is bounded.

import { type ServerDuplexStream, status } from '@grpc/grpc-js'
import type { Root } from 'protobufjs'
import descriptor, { type IDescriptorProto, type IFileDescriptorProto } from 'protobufjs/ext/descriptor/index.js'
import { SERVICES } from './protocol.ts'

// The module is CommonJS without named exports.
const { FileDescriptorProto } = descriptor

interface Question {
  readonly host: string
  /** One of the following is its own property. The others are null. */
  readonly file_by_filename: string
  readonly file_containing_symbol: string
  readonly list_services: string
}

/** The extension of protobufjs adds this method. */
interface Described {
  toDescriptor(edition: string): { readonly file: readonly IFileDescriptorProto[] }
}

type ReflectCall = ServerDuplexStream<Question, object>
type Reflect = (call: ReflectCall) => void

/** Callers at once. Tools ask for a moment. */
export const MOST_REFLECTING = 100

/** Returns the handler for the loaded files. */
export function reflection(root: Root): { readonly ServerReflectionInfo: Reflect } {
  const { file: files } = (root as unknown as Described).toDescriptor('proto3')
  const described = completed(files)
  const byName = new Map(described.map((file) => [file.name ?? '', file]))
  const encoded = new Map(described.map((file) => [file, FileDescriptorProto.encode(FileDescriptorProto.create(file)).finish()]))
  const bySymbol = new Map(described.flatMap((file) => symbolsOf(file).map((symbol) => [symbol, file] as const)))
  const answer = (question: Question): object => {
    if (Object.hasOwn(question, 'list_services')) {
      return { list_services_response: { service: Object.values(SERVICES).map((name) => ({ name })) } }
    }
    const isByName = Object.hasOwn(question, 'file_by_filename')
    if (!isByName && !Object.hasOwn(question, 'file_containing_symbol')) {
      return failed(status.UNIMPLEMENTED, 'this request is not supported')
    }
    const file = isByName ? byName.get(question.file_by_filename) : bySymbol.get(question.file_containing_symbol)
    if (file === undefined) return failed(status.NOT_FOUND, 'there is no such file or symbol')
    const found = [...withNeeded(file, byName)]
    return { file_descriptor_response: { file_descriptor_proto: found.map((each) => encoded.get(each)) } }
  }
  const open = new Set<ReflectCall>()
  return {
    ServerReflectionInfo: (call) => {
      if (open.size >= MOST_REFLECTING) {
        call.emit('error', { code: status.RESOURCE_EXHAUSTED, details: 'too many callers use reflection already' })
        return
      }
      open.add(call)
      call.on('close', () => open.delete(call))
      call.on('cancelled', () => open.delete(call))
      call.on('data', (question: Question): void => {
        const isRead = call.write({ valid_host: question.host, original_request: question, ...answer(question) })
        if (!isRead) call.pause()
      })
      call.on('drain', () => call.resume())
      call.on('end', () => call.end())
    },
  }
}

function failed(code: number, message: string): object {
  return { error_response: { error_code: code, error_message: message } }
}

/** Returns a file, and all files that it needs. */
function withNeeded(
  file: IFileDescriptorProto,
  byName: ReadonlyMap<string, IFileDescriptorProto>,
  found = new Set<IFileDescriptorProto>(),
): ReadonlySet<IFileDescriptorProto> {
  found.add(file)
  for (const name of (file.dependency ?? []) as string[]) {
    const needed = byName.get(name)
    if (needed !== undefined && !found.has(needed)) withNeeded(needed, byName, found)
  }
  return found
}

/** The extension makes one file for each package, with relative names of types and without dependencies. */
function completed(files: readonly IFileDescriptorProto[]): readonly IFileDescriptorProto[] {
  const owners = new Map(files.flatMap((file) => symbolsOf(file).map((symbol) => [symbol, file] as const)))
  return files.map((file) => {
    const dependencies = new Set<string>()
    const complete = (message: IDescriptorProto, within: string): void => {
      const scope = `${within}.${message.name}`
      for (const field of message.field ?? []) {
        if (!field.typeName) continue
        const type = resolved(field.typeName, scope, owners)
        const owner = owners.get(type)
        if (owner !== undefined && owner !== file) dependencies.add(owner.name ?? '')
        field.typeName = `.${type}`
      }
      for (const nested of message.nestedType ?? []) complete(nested, scope)
    }
    for (const message of file.messageType ?? []) complete(message, file.package ?? '')
    return Object.assign(file, { syntax: 'proto3', dependency: [...dependencies] })
  })
}

/** Returns the full name of a type: a relative name is looked for in the scope, then in each scope around it. */
function resolved(name: string, scope: string, symbols: ReadonlyMap<string, unknown>): string {
  for (let within = scope; within !== ''; within = within.slice(0, Math.max(0, within.lastIndexOf('.')))) {
    if (symbols.has(`${within}.${name}`)) return `${within}.${name}`
  }
  return name
}

/** Full names of messages, enums, services and methods of a file. */
function symbolsOf({ package: name, messageType, enumType, service }: IFileDescriptorProto): readonly string[] {
  const nested = (within: string, { name: own, nestedType, enumType: enums }: IDescriptorProto): readonly string[] => [
    `${within}.${own}`,
    ...(enums ?? []).map((each) => `${within}.${own}.${each.name}`),
    ...(nestedType ?? []).flatMap((each) => nested(`${within}.${own}`, each)),
  ]
  return [
    ...(messageType ?? []).flatMap((message) => nested(name ?? '', message)),
    ...(enumType ?? []).map((each) => `${name}.${each.name}`),
    ...(service ?? []).flatMap((each) => [
      `${name}.${each.name}`,
      ...(each.method ?? []).map((method) => `${name}.${each.name}.${method.name}`),
    ]),
  ]
}
