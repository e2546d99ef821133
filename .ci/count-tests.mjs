// Prints the test counts in one line; exits with 1 if a test failed or was skipped, or if none ran.
import { readFileSync } from 'node:fs';

const files = JSON.parse(readFileSync(process.argv[2], 'utf8')).testResults;
const tests = files.flatMap(({ assertionResults }) => assertionResults);
const count = (...statuses) => tests.filter(({ status }) => statuses.includes(status)).length;
const [passed, failed] = [count('passed'), count('failed')];
console.log(
  `${files.length} files, ${tests.length} tests: ${passed} passed, ${failed} failed, ${tests.length - passed - failed} skipped`,
);
if (tests.length === 0 || passed !== tests.length) process.exit(1);
