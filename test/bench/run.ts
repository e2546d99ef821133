import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../src/runtime/package-root.js';
import { choice, flag, readOptions, several, whole, text as word } from '../support/options.js';
import { huge } from './huge/huge.js';
import { databases } from './huge/needs.js';
import { optionalSteps } from './huge/steps.js';
import { full, quick, type Scale } from './measures.js';
import { asJson, circumstances, headline, type Measured, table } from './report.js';
import { sections } from './sections/index.js';

const size = { least: 1 };
const options = readOptions({
  name: 'npm run bench',
  about: `Compares the cost of the complete product with the minimum for the same result. Variants alternate round by round,
because the machine's speed varies by a factor of two: only ratios within one run count. Without options: 100,000
records, three rounds, a few minutes.

  npm run bench -- --only delta,webhook --records 10000 --rounds 5
  npm run bench -- --only soak --soak-seconds 3600   an hour, at twenty changes a second
  npm run bench -- --only stalls --records 1000000 --rounds 1
  npm run bench -- --huge --records 1000000 --versions 5000000`,
  options: {
    full: flag("200,000 and 1,000,000 records, and the peer's package from the registry"),
    only: several(
      'these sections alone',
      sections.map(({ name }) => name),
      'SECTION',
    ),
    records: whole('records of a mirror', null, size),
    rounds: whole('rounds of each variant', null, size),
    seconds: whole('of each rate in the section live, instead of a minute', null, size),
    changes: whole('of the section sequence', null, size),
    'soak-seconds': whole('of the section soak', null, size),
    huge: flag('a mirror of many companies at three sizes instead: see huge/huge.ts'),
    versions: whole('of its records (five times the records)', null, size),
    companies: whole('of it', 200, size),
    database: choice('it alone', databases, null),
    without: several('leaves these steps out', optionalSteps, 'STEP'),
    keep: word('keeps its files there for the next run', null, 'FOLDER'),
    postgres: word(
      'the server it uses instead of one of its own; with --keep, databases stay there',
      null,
      'URL',
    ),
    json: flag('for programs'),
    write: flag('also appends table and JSON to test/bench/results.md'),
  },
});

if (options.huge) {
  await runHuge();
  process.exit(0);
}

/** Measures one large mirror at three sizes, instead of the sections. */
async function runHuge(): Promise<void> {
  const { database, companies, without, keep, postgres } = options;
  const records = options.records ?? 10_000_000;
  const text = await huge({
    records,
    versions: options.versions ?? 5 * records,
    companies,
    databases: database === null ? databases : [database],
    without,
    keep,
    apart: true,
    postgres,
    sizes: 3,
    turns: 100,
    say: (line) => process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`),
  }).catch((error: Error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  });
  const section = `## ${headline(circumstances(1))}\n\n${text}\n`;
  process.stdout.write(section);
  if (options.write) appendFileSync(join(packageRoot, 'test/bench/results.md'), `\n${section}`);
}

const base = options.full ? full : quick;
const only = options.only.length === 0 ? null : options.only;
const { seconds, changes, rounds } = options;
const records = options.records === null ? null : [options.records];
const scale: Scale = {
  ...base,
  // Naming the section enables it.
  network: base.network || only?.includes('peer') === true,
  ...(records === null ? {} : { records, stalls: { ...base.stalls, records } }),
  ...(seconds === null ? {} : { live: { ...base.live, seconds } }),
  ...(changes === null ? {} : { sequence: changes }),
  ...(options['soak-seconds'] === null ? {} : { soakSeconds: options['soak-seconds'] }),
  ...(rounds === null ? {} : { rounds }),
};

const measured: Measured[] = [];
for (const section of sections) {
  if (only !== null && !only.includes(section.name)) continue;
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
process.stdout.write(options.json ? `${json}\n` : text);
if (options.write)
  appendFileSync(
    join(packageRoot, 'test/bench/results.md'),
    `\n${text}\n<details><summary>JSON</summary>\n\n\`\`\`json\n${json}\n\`\`\`\n\n</details>\n`,
  );
