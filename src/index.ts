/** rosterd as a library: everything here is a contract, everything else may change between versions. */
import './runtime/require-node.js';

export type { ConfigInput } from './config/from-object.js';
export { InvalidConfig, type Problem } from './config/invalid-config.js';
export type { ChangeListener } from './daemon/change-pump.js';
export { createMirror, type Mirror, type MirrorOptions, type SourcesListener } from './daemon/library.js';
export type { SourceResult } from './daemon/source-result.js';
export { type About, Fault, type FaultCode, isFault } from './domain/fault.js';
export type { FullStatus, SourceStatus, WebhookSpacing } from './reading/status.js';
export type { Clock } from './runtime/clock.js';
export type { LogFields, Logger } from './runtime/logger.js';
export type { MirrorDatabase, MirrorQuery } from './store/mirror-database.js';
export type { Change, ChangedColumns } from './store/reads/changes.js';
export type { Health, StatusDocument } from './store/reads/status.js';
export type { TickReport } from './sync/ports.js';
export type { ManualAsk } from './sync/schedule-state.js';
