import { flag, readOptions } from '../support/options.js';
import { citations, readRules } from './rule-ledger.js';

const { missing } = readOptions({
  name: 'npm run rules',
  about: 'Reports how much of the ledger of rules the tests cite. It is only a report: it exits with 0.',
  options: { missing: flag('lists the rest') },
});
const rules = readRules();
const cited = citations(rules);
const report: string[] = [];

function row(name: string, of: readonly { readonly id: string }[]): void {
  const covered = of.filter(({ id }) => cited.has(id)).length;
  const share = Math.floor((100 * covered) / of.length);
  report.push(`${name.padEnd(8)}${`${covered}/${of.length}`.padStart(9)}${`${share}%`.padStart(6)}`);
}

for (const section of new Set(rules.map((rule) => rule.section))) {
  row(
    section,
    rules.filter((rule) => rule.section === section),
  );
}
row('all', rules);

if (missing) {
  report.push('', 'not cited:');
  for (const { id, text } of rules) if (!cited.has(id)) report.push(`${id} ${text}`);
}

// In one write, because a reader like head may leave early.
process.stdout.write(`${report.join('\n')}\n`);
