import type { ReceiverConfig } from '../config/config.js';
import { descriptorLimit } from '../runtime/file-descriptors.js';
import type { Logger } from '../runtime/logger.js';

/** Files, databases, requests and the console need descriptors too: this many, or three quarters of few. */
const descriptorsKept = 128;

export interface ReceiverConnections {
  readonly connections: number;
  readonly perAddress: number;
}

/**
 * Returns how many connections the receiver may hold. A process without a descriptor left loses every newcomer and
 * can open neither its database nor a request, so a low limit counts before the configuration, with a warning.
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
  // In the same proportion: an address that may take every place of many may not shut out the others of few.
  const share = maxConnectionsPerAddress / maxConnections;
  return { connections: room, perAddress: Math.max(1, Math.ceil(room * Math.min(1, share))) };
}
