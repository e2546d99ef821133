import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { packageRoot } from '../../src/runtime/package-root.js';
import { huge } from './huge/huge.js';
import { databases } from './huge/needs.js';
import { full, quick, type Scale } from './measures.js';
import { asJson, circumstances, headline, type Measured, table } from './report.js';
import { sections } from './sections/index.js';

/*
 * Compares the cost of the complete product with the minimum for the same result. Variants alternate round by round,
 * because the machine's speed varies by a factor of two: only ratios within one run count.
 *
 *   npm run bench                          100,000 records, three rounds, a few minutes
 *   npm run bench -- --full                200,000 and 1,000,000 records, and the peer's package from the registry
 *   npm run bench -- --only peer           that package alone
 *   npm run bench -- --only delta,webhook --records 10000 --rounds 5
 *   npm run bench -- --only soak --soak-seconds 3600   an hour, at twenty changes a second
 *   npm run bench -- --only live --seconds 10          ten seconds instead of a minute for each rate
 *   npm run bench -- --only sequence --changes 400
 *   npm run bench -- --only stalls --records 1000000 --rounds 1
 *   npm run bench -- --huge --records 1000000 --versions 5000000   a mirror of many companies: see huge/huge.ts
 *   npm run bench -- --json                for programs
 *   npm run bench -- --write               also appends table and JSON to test/bench/results.md
 */
const { values } = parseArgs({
  options: {
    full: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
    records: { type: 'string' },
    rounds: { type: 'string' },
    'soak-seconds': { type: 'string' },
    seconds: { type: 'string' },
    changes: { type: 'string' },
    json: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    huge: { type: 'boolean', default: false },
    versions: { type: 'string' },
    companies: { type: 'string' },
    database: { type: 'string' },
    keep: { type: 'string' },
  },
});

const fail = (message: string): never => {
  process.stderr.write(`${message}\n`);
  process.exit(2);
};

function countOf(flag: string, text: string): number {
  const count = Number(text.replaceAll(/[_,]/g, ''));
  return Number.isSafeInteger(count) && count > 0
    ? count
    : fail(`--${flag} takes a whole number above 0, not "${text}"`);
}

if (values.huge) {
  await runHuge();
  process.exit(0);
}

/** Measures one large mirror at three sizes, instead of the sections. */
async function runHuge(): Promise<void> {
  const { database } = values;
  if (database !== undefined && database !== 'sqlite' && database !== 'postgres')
    fail(`--database takes sqlite or postgres, not "${database}"`);
  const records = values.records === undefined ? 10_000_000 : countOf('records', values.records);
  const text = await huge({
    records,
    versions: values.versions === undefined ? 5 * records : countOf('versions', values.versions),
    companies: values.companies === undefined ? 200 : countOf('companies', values.companies),
    databases: database === undefined ? databases : databases.filter((one) => one === database),
    keep: values.keep ?? null,
    apart: true,
    postgres: null,
    sizes: 3,
    turns: 100,
    say: (line) => process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`),
  }).catch((error: Error) => fail(error.message));
  const section = `## ${headline(circumstances(1))}\n\n${text}\n`;
  process.stdout.write(section);
  if (values.write) appendFileSync(join(packageRoot, 'test/bench/results.md'), `\n${section}`);
}

const base = values.full ? full : quick;
const only = values.only?.flatMap((names) => names.split(','));
const records = values.records === undefined ? null : [countOf('records', values.records)];
const seconds = values.seconds === undefined ? null : countOf('seconds', values.seconds);
const scale: Scale = {
  ...base,
  // Naming the section enables it.
  network: base.network || only?.includes('peer') === true,
  ...(records === null ? {} : { records, stalls: { ...base.stalls, records } }),
  ...(seconds === null ? {} : { live: { ...base.live, seconds } }),
  ...(values.changes === undefined ? {} : { sequence: countOf('changes', values.changes) }),
  ...(values['soak-seconds'] === undefined
    ? {}
    : { soakSeconds: countOf('soak-seconds', values['soak-seconds']) }),
  ...(values.rounds === undefined ? {} : { rounds: countOf('rounds', values.rounds) }),
};
for (const name of only ?? [])
  if (!sections.some((section) => section.name === name))
    fail(`no section is called "${name}"; there are ${sections.map((section) => section.name).join(', ')}`);

const measured: Measured[] = [];
for (const section of sections) {
  if (only !== undefined && !only.includes(section.name)) continue;
  for (const records of section.each ? (section.sizes?.(scale) ?? scale.records) : [null]) {
    const began = performance.now();
    const measures = await section.measure(scale, records ?? 0);
    // A section that could not measure has printed why.
    if (measures.length > 0) measured.push({ section, records, measures });
    const seconds = Math.round((performance.now() - began) / 1000);
    process.stderr.write(
      `${section.name}${records === null ? '' : ` at ${records.toLocaleString('en-US')}`}: ${seconds} s\n`,
    );
  }
}

const at = circumstances(scale.rounds);
const text = `## ${headline(at)}\n\n${table(measured)}\n`;
const json = JSON.stringify(asJson(at, measured));
process.stdout.write(values.json ? `${json}\n` : text);
if (values.write)
  appendFileSync(
    join(packageRoot, 'test/bench/results.md'),
    `\n${text}\n<details><summary>JSON</summary>\n\n\`\`\`json\n${json}\n\`\`\`\n\n</details>\n`,
  );
