import { expect, test } from 'vitest';
import { receiverConnections } from '../../src/daemon/connection-limits.js';
import { type LogFields, silentLogger } from '../../src/runtime/logger.js';

const settings = { maxConnections: 2048, maxConnectionsPerAddress: 1024 };

test.each([
  [null, 2048, 1024],
  [20_000, 2048, 1024],
  [2176, 2048, 1024],
  [1024, 896, 448],
  [200, 72, 36],
  [64, 16, 8],
])(
  'with %s file descriptors the receiver allows %i connections, %i from one address',
  (limit, connections, perAddress) => {
    const warned: LogFields[] = [];
    const logger = { ...silentLogger, warn: (fields: LogFields) => void warned.push(fields) };
    expect(receiverConnections(settings, logger, limit)).toEqual({ connections, perAddress });
    expect(warned.map(({ count }) => count)).toEqual(connections < 2048 ? [connections] : []);
  },
);
