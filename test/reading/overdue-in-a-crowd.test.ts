import { expect, test } from 'vitest';
import { configFromObject } from '../../src/config/from-object.js';
import { statusWanted } from '../../src/reading/status.js';

const minute = 60_000;
const hour = 60 * minute;

test.each([
  ['1 source', 1, 1.25 * 3 * minute + minute],
  ['100 sources, read every three minutes', 100, 1.25 * 3 * minute + 2 * minute + minute],
  ['10,000 sources, read every five hours', 10_000, 2.25 * 5 * hour],
])(
  'status: the tick of one of %s is overdue only after the time that it may wait',
  (_, count, staleMillis) => {
    const config = configFromObject(
      {
        platform: { baseUrl: 'http://127.0.0.1:9' },
        database: 'sqlite:mirror.db',
        sources: [{ name: 'acme', token: { env: 'TOKEN' } }],
      },
      { cwd: '/', env: { TOKEN: 'at_test_1' } },
    );
    expect(statusWanted(config).staleMillisOf?.(count)).toBeCloseTo(staleMillis, 3);
  },
);
