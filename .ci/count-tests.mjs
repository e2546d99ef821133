// Prints the test counts of reports in one line; exits with 1 if a test failed or was skipped, or if a report has none.
import { readFileSync } from 'node:fs';

const reports = process.argv.slice(2).map((path) => JSON.parse(readFileSync(path, 'utf8')).testResults);
const files = reports.flat();
const testsOf = (results) => results.flatMap(({ assertionResults }) => assertionResults);
const tests = testsOf(files);
const count = (...statuses) => tests.filter(({ status }) => statuses.includes(status)).length;
const [passed, failed] = [count('passed'), count('failed')];
console.log(
  `${files.length} files, ${tests.length} tests: ${passed} passed, ${failed} failed, ${tests.length - passed - failed} skipped`,
);
if (reports.length === 0 || reports.some((report) => testsOf(report).length === 0) || passed !== tests.length)
  process.exit(1);
