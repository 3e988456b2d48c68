// Entry point of the package. The service itself is the `sluice` command.

export { type Config, type ConfigSources, type LoadedConfig, loadConfig } from './config/config.ts'
export { type Problem, SERVER_ERROR_CODES, ServerError, type ServerErrorCode } from './errors.ts'
export type { Policy, PolicyMode, PolicyScope, PolicySource, PolicySpec, RuleSpec } from './policies/policy.ts'
export { runUntilSignal, type StartService } from './run-until-signal.ts'
export { type RunningService, type ServeOptions, serve } from './serve.ts'
