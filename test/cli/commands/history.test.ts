import { describe, expect, test } from 'vitest';
import { changedMirror, jsonOf } from './changed-mirror.js';

const { world, target, before } = await changedMirror();

describe('history', () => {
  test('history lists every version, newest first, with its end and its differences', async () => {
    const { code, out } = await world.run(['history', target]);
    expect(code).toBe(0);
    const [, now = '', then = ''] = out.split('\n');
    expect(now).toMatch(/^acme +\S+Z +now +active +7777\.00 .*committed_cents/);
    expect(then).toMatch(/^acme +\S+Z +\S+Z +active .*update/);
    const versions = jsonOf((await world.run(['history', target, '--json'])).out);
    expect(versions.slice(0, 2)).toMatchObject([
      { id: target, committed_cents: 777_700, valid_to: null, ended_by: null, blockers: expect.any(Array) },
      { id: target, ended_by: 'update', valid_to: versions[0]?.valid_from },
    ]);
  });

  test('history --as-of prints the one version of that time', async () => {
    const then = jsonOf((await world.run(['history', target, '--as-of', before, '--json'])).out);
    expect(then).toMatchObject([{ ended_by: 'update' }]);
    expect(await world.run(['history', target, '--as-of', '2001-01-01'])).toMatchObject({ code: 1, out: '' });
  });

  test.each([
    ['inv_never', 1, 'is not in this mirror, and the mirror has no version of it'],
    ['usr_1', 2, 'ids of investments begin with inv_'],
  ])('history of %s exits with %i', async (id, code, message) => {
    const answer = await world.run(['history', id]);
    expect(answer).toMatchObject({ code, out: '' });
    expect(answer.err).toContain(message);
  });
});
