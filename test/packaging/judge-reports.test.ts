import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { packageRoot } from '../../src/runtime/package-root.js';

type Report = readonly { readonly name: string; readonly assertionResults: readonly { status: string }[] }[];
interface Judge {
  readonly judgeReports: (
    reports: readonly Report[],
    here: { readonly runsAll: boolean; readonly sourceOf: (path: string) => string },
  ) => { readonly text: string; readonly good: boolean };
}
const script = pathToFileURL(join(packageRoot, '.ci/judge-reports.mjs')).href;
const { judgeReports } = (await import(script)) as Judge;

const sources: Readonly<Record<string, string>> = {
  'plain.test.ts': "test('runs', () => {});",
  'root.test.ts': "test.skipIf(process.geteuid?.() !== 0)('needs root', () => {});",
};
const fileOf = (name: string, ...statuses: string[]) => ({
  name,
  assertionResults: statuses.map((status) => ({ status })),
});
const judged = (runsAll: boolean, ...reports: Report[]) =>
  judgeReports(reports, { runsAll, sourceOf: (path) => sources[path] ?? '' });

test('.ci/run: without root, tests may be skipped by a condition that their file states, and no others', () => {
  const needsRoot = [fileOf('plain.test.ts', 'passed'), fileOf('root.test.ts', 'passed', 'skipped')];
  expect(judged(false, needsRoot)).toEqual({
    text: '2 files, 3 tests: 2 passed, 0 failed, 1 skipped',
    good: true,
  });
  expect(judged(true, needsRoot).good).toBe(false);
  expect(judged(false, [fileOf('plain.test.ts', 'passed', 'skipped')]).good).toBe(false);
  expect(judged(false, [fileOf('root.test.ts', 'passed', 'todo')]).good).toBe(false);
});

test('.ci/run: a failed test, a report without tests and no report are failures', () => {
  const passed = [fileOf('plain.test.ts', 'passed')];
  expect(judged(true, passed).good).toBe(true);
  expect(judged(false, [fileOf('root.test.ts', 'failed')]).good).toBe(false);
  expect(judged(false, passed, []).good).toBe(false);
  expect(judged(false).good).toBe(false);
});
