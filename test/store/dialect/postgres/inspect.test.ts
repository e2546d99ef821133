import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { poolerCheck, rolesCheck } from '../../../../src/doctor/postgres-checks.js';
import { poolerBehind } from '../../../../src/store/dialect/postgres/inspect.js';

test.each([
  ['a direct connection', { told: 7, before: 7, after: 7, lent: 8 }, 'none'],
  [
    'a pooler that keeps one server process per session',
    { told: 991, before: 7, after: 7, lent: 8 },
    'session',
  ],
  [
    'a pooler that lends the process to the next client',
    { told: 991, before: 7, after: 9, lent: 7 },
    'transaction',
  ],
  [
    'a pooler that uses another process each time',
    { told: 991, before: 7, after: 9, lent: 8 },
    'transaction',
  ],
] as const)('%s is detected by its process numbers', (_, processes, expected) => {
  expect(poolerBehind(processes)).toBe(expected);
});

test('the pooler check warns about transaction mode and says what does not work through it', () => {
  expect(poolerCheck('transaction')).toMatchObject({
    verdict: 'warn',
    message: expect.stringContaining('LISTEN'),
    mend: expect.stringContaining('session mode'),
  });
  expect(poolerCheck('session').verdict).toBe('pass');
});

test('the roles check prints a command that sets every variable of grants.sql', () => {
  const report = {
    rolesMissing: ['rosterd_analyst'],
    rolesUngranted: [],
    mayMask: false,
    user: 'app',
    schema: 'roster',
    identitySchema: 'roster_people',
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
  const ungranted = { ...report, rolesMissing: [], mayMask: true, rolesUngranted: ['rosterd_analyst'] };
  expect(rolesCheck(ungranted)).toMatchObject({
    verdict: 'warn',
    message: 'rosterd_analyst may not read all that this version grants',
    mend: expect.stringMatching(/^as the mirror's owner: psql -v schema=roster .*grants\.sql$/),
  });
  const spaced = { ...ungranted, user: 'crm-app', schema: 'my roster', identitySchema: 'my roster_people' };
  expect(rolesCheck(spaced).mend).toContain('-v schema="my roster" -v identity="my roster_people"');
  expect(rolesCheck({ ...spaced, mayMask: false }).mend).toContain('GRANT rosterd_analyst TO "crm-app";');
});
