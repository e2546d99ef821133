import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { poolerCheck, rolesCheck } from '../../../../src/doctor/postgres-checks.js';
import { poolerBehind } from '../../../../src/store/dialect/postgres/inspect.js';

test.each([
  ['the server itself', { told: 7, before: 7, after: 7, lent: 8 }, 'none'],
  ['a pooler that keeps a session’s process', { told: 991, before: 7, after: 7, lent: 8 }, 'session'],
  ['one that lends it to the next who asks', { told: 991, before: 7, after: 9, lent: 7 }, 'transaction'],
  ['one that gives another each time', { told: 991, before: 7, after: 9, lent: 8 }, 'transaction'],
] as const)('%s is known by its process numbers', (_, processes, expected) => {
  expect(poolerBehind(processes)).toBe(expected);
});

test('a pooler in transaction mode is told with what does not work through it', () => {
  expect(poolerCheck('transaction')).toMatchObject({
    verdict: 'warn',
    message: expect.stringContaining('LISTEN'),
    mend: expect.stringContaining('session mode'),
  });
  expect(poolerCheck('session').verdict).toBe('pass');
});

test('missing roles are told with a command that gives grants.sql every variable it has', () => {
  const report = {
    ...{ rolesMissing: ['rosterd_analyst'], mayMask: false, user: 'app' },
    ...{ schema: 'roster', identitySchema: 'roster_people' },
  };
  const { mend = '' } = rolesCheck(report);
  expect(mend).toContain('CREATE ROLE rosterd_analyst NOLOGIN;');
  const file = /-f (\S+)$/.exec(mend ?? '')?.[1] ?? '';
  expect(existsSync(file)).toBe(true);
  const variables = readFileSync(file, 'utf8').matchAll(/:"(\w+)"/g);
  for (const [, name] of variables) expect(mend).toMatch(new RegExp(` -v ${name}=roster\\w* `));
  expect(mend).toContain('-v schema=roster -v identity=roster_people');
  expect(rolesCheck({ ...report, rolesMissing: [], mayMask: true }).verdict).toBe('pass');
  expect(rolesCheck({ ...report, rolesMissing: [] })).toMatchObject({
    verdict: 'warn',
    mend: expect.stringContaining('GRANT rosterd_analyst TO app;'),
  });
});
