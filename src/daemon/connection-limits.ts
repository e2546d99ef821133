import type { ReceiverConfig } from '../config/config.js';
import { descriptorLimit } from '../runtime/file-descriptors.js';
import type { Logger } from '../runtime/logger.js';

/** Descriptors kept for files, databases, requests and the console; three quarters of the limit when that is less. */
const descriptorsKept = 128;

export interface ReceiverConnections {
  readonly connections: number;
  readonly perAddress: number;
}

/**
 * Returns how many connections the receiver may keep open. A process without free descriptors can accept no
 * connection, open no database and send no request, so a low limit overrides the configuration, with a warning.
 */
export function receiverConnections(
  {
    maxConnections,
    maxConnectionsPerAddress,
  }: Pick<ReceiverConfig, 'maxConnections' | 'maxConnectionsPerAddress'>,
  logger: Logger,
  limit = descriptorLimit(),
): ReceiverConnections {
  const room = limit === null ? maxConnections : Math.floor(Math.max(limit - descriptorsKept, limit / 4));
  if (room >= maxConnections) return { connections: maxConnections, perAddress: maxConnectionsPerAddress };
  logger.warn(
    {
      count: room,
      hint: `raise the limit to ${maxConnections + descriptorsKept}: ulimit -n, or LimitNOFILE in the systemd unit; or lower receiver.maxConnections`,
    },
    'the limit of file descriptors allows fewer connections than receiver.maxConnections',
  );
  // Scaled in proportion, so that one address cannot use up the smaller total either.
  const share = maxConnectionsPerAddress / maxConnections;
  return { connections: room, perAddress: Math.max(1, Math.ceil(room * Math.min(1, share))) };
}
