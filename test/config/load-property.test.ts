import { expect, test } from 'vitest';
import { InvalidConfig } from '../../src/config/invalid-config.js';
import { isFault } from '../../src/domain/fault.js';
import fc from '../support/property.js';
import { folder, load, minimal } from './load-config.js';

const settings = [
  'platform',
  'sources',
  'database',
  'sync',
  'receiver',
  'console',
  'notices',
  'log',
  'forget',
];
const keys = fc.constantFrom(
  ...[...settings, 'baseUrl', 'name', 'token', 'env', 'file', 'command', 'listen', 'secrets', 'filters'],
  ...[
    'follow',
    'rule',
    'scopes',
    'except',
    'overrides',
    'afterRevoke',
    'intervalSeconds',
    'brake',
    'share',
    'auth',
    'kind',
    'url',
    'level',
    '__proto__',
    'constructor',
    '',
  ],
);
const scalars = fc.constantFrom<unknown>(
  ...['acme', 'https://api.example.com', 'sqlite:./mirror.db', '127.0.0.1:0', 'debug', '\u0000', '../../x'],
  ...[0, -1, 1e308, 60, 2 ** 53, true, false, null, [], {}, [null]],
);
const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    scalars,
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(keys, tie('value'), { maxKeys: 4 }),
  ),
})).value;
const contents = fc.oneof(
  fc.dictionary(fc.constantFrom(...settings), values, { maxKeys: 4 }).map((set) => ({ ...minimal, ...set })),
  fc
    .dictionary(keys, values, { maxKeys: 3 })
    .map((set) => ({ ...minimal, platform: { ...minimal.platform, ...set } })),
  fc
    .dictionary(keys, values, { maxKeys: 3 })
    .map((set) => ({ ...minimal, sources: [{ ...minimal.sources[0], ...set }] })),
  fc
    .dictionary(keys, values, { maxKeys: 3 })
    .map((set) => ({ ...minimal, sources: [{ follow: 'installations', token: { env: 'A' }, ...set }] })),
  values,
  fc.string().map((text) => text),
);

test('any content of the file yields a configuration or a list of problems with positions', () => {
  const cwd = folder();
  let refused = 0;
  fc.assert(
    fc.property(
      contents,
      fc.dictionary(fc.constantFrom('ROSTERD_LOG_LEVEL', 'ROSTERD_SYNC'), fc.string()),
      (content, env) => {
        try {
          const { sources, follows } = load(content, { cwd, env }).config;
          expect(sources.length + follows.length).toBeGreaterThan(0);
        } catch (error) {
          refused += 1;
          if (error instanceof InvalidConfig) {
            expect(error.problems.length).toBeGreaterThan(0);
            for (const { message } of error.problems) expect(message).not.toBe('');
          } else if (!isFault(error, 'usage')) throw error;
        }
      },
    ),
    { numRuns: 80 },
  );
  expect(refused).toBeGreaterThan(20);
});
