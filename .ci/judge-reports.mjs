/**
 * Some tests need root or Linux. Where that is missing, a test may be skipped if its file states a condition for that;
 * root on Linux runs every test.
 */
export function judgeReports(reports, { runsAll, sourceOf }) {
  const files = reports.flat();
  const testsOf = (results) => results.flatMap(({ assertionResults }) => assertionResults);
  const tests = testsOf(files);
  const count = (some, ...statuses) => some.filter(({ status }) => statuses.includes(status)).length;
  const [passed, failed] = [count(tests, 'passed'), count(tests, 'failed')];
  const mayBeSkipped = ({ name }) => !runsAll && /\.(?:skipIf|runIf)\(/.test(sourceOf(name));
  const excused = count(testsOf(files.filter(mayBeSkipped)), 'skipped', 'pending');
  return {
    text: `${files.length} files, ${tests.length} tests: ${passed} passed, ${failed} failed, ${tests.length - passed - failed} skipped`,
    good:
      reports.length > 0 &&
      reports.every((report) => testsOf(report).length > 0) &&
      passed + excused === tests.length,
  };
}
