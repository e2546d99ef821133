// The test files of a report in which something failed, a line each; ends with 1 when running them again settles nothing.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

/** More than these are not accidents of a busy machine. */
const most = 3;

const { testResults, numTotalTests } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const failed = testResults
  .filter(
    ({ status, assertionResults }) =>
      status !== 'passed' || assertionResults.some((one) => one.status !== 'passed'),
  )
  .map(({ name }) => relative(process.cwd(), name));

if (numTotalTests === 0 || failed.length === 0 || failed.length > most) {
  console.error(`${failed.length} of ${testResults.length} files failed`);
  process.exit(1);
}
console.log(failed.join('\n'));
