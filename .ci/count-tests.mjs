// Prints the test counts of reports in one line; exits with 1 if a test failed or may not be skipped, or if a report has none.
import { readFileSync } from 'node:fs';
import { judgeReports } from './judge-reports.mjs';

const reports = process.argv.slice(2).map((path) => JSON.parse(readFileSync(path, 'utf8')).testResults);
const { text, good } = judgeReports(reports, {
  runsAll: process.platform === 'linux' && process.geteuid?.() === 0,
  sourceOf: (path) => readFileSync(path, 'utf8'),
});
console.log(text);
if (!good) process.exit(1);
