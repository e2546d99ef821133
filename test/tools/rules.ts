import { citations, readRules } from './rule-ledger.js';

/**
 * Reports how much of the ledger the tests cite; `--missing` lists the rest. It is only a report: it exits with 0.
 */
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

if (process.argv.includes('--missing')) {
  report.push('', 'not cited:');
  for (const { id, text } of rules) if (!cited.has(id)) report.push(`${id} ${text}`);
}

// In one write, because a reader like head may leave early.
process.stdout.write(`${report.join('\n')}\n`);
