// What was tested, in one line; ends with 1 when anything of the last judgement of a file failed or was skipped.
import { existsSync, readFileSync } from 'node:fs';

const last = new Map();
for (const report of process.argv.slice(2).filter(existsSync))
  for (const file of JSON.parse(readFileSync(report, 'utf8')).testResults)
    last.set(file.name, file.assertionResults);

const tests = [...last.values()].flat();
const count = (...statuses) => tests.filter(({ status }) => statuses.includes(status)).length;
const [passed, failed] = [count('passed'), count('failed')];
console.log(
  `${last.size} files, ${tests.length} tests: ${passed} passed, ${failed} failed, ${tests.length - passed - failed} skipped`,
);
if (tests.length === 0 || passed !== tests.length) process.exit(1);
