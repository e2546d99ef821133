import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tempFolder } from '../store/temp-folder.js';
import { meet } from './mirror.js';
import { type HostilePlatform, openHostilePlatform } from './platform.js';
import { shapes } from './shapes.js';
import { counting } from './work.js';

let platform: HostilePlatform;
beforeAll(async () => {
  platform = await openHostilePlatform();
});
afterAll(() => platform.close());

test('the hostile platform has at least a hundred shapes with distinct names', () => {
  expect(shapes.length).toBeGreaterThanOrEqual(100);
  expect(new Set(shapes.map(({ name }) => name)).size).toBe(shapes.length);
});

describe.each(['listing', 'delta'] as const)('a hostile platform, in a %s:', (where) => {
  test.each([...shapes])('the mirror survives a hostile page: $name', async (shape) => {
    const { left } = shape;
    const asked = platform.requestsOf(shape);
    const url = platform.urlOf(shape, where);
    const [met, work] = await counting(() => meet(url, where, tempFolder()));
    const { report } = met;
    const outcome = left.outcome ?? 'done';
    expect(report).toMatchObject({
      outcome,
      code: outcome === 'done' ? null : (left.code ?? expect.any(String)),
      message: left.says === undefined ? (report.message ?? null) : expect.stringContaining(left.says),
    });
    const requests = left.requests ?? 1;
    expect(platform.requestsOf(shape) - asked).toBe(
      typeof requests === 'number' ? requests : requests[where],
    );
    const { held, aside, drift } = met;
    expect({ held, aside, drift }).toEqual({
      held: left.held ?? 0,
      aside: left.aside ?? 0,
      drift: left.drift ?? 0,
    });
    for (const problem of met.problems) expect(problem).toContain(left.problem ?? '');
    // Upper bounds on the work done: text parsed, entries classified, statements run and rows written.
    expect(work.partsMax).toBeLessThanOrEqual(200_000);
    expect(work.parsedLength).toBeLessThanOrEqual(3 * 8 * 1024 * 1024);
    expect(met.entries).toBeLessThanOrEqual(200);
    expect(work.statements).toBeLessThanOrEqual(5_000);
    expect(met.rows).toBeLessThanOrEqual(2_000);
    expect(met.bodyLengthMax).toBeLessThanOrEqual(64 * 1024);
  });
});
