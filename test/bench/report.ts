import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';
import { isMet, type Measure, type Section } from './measures.js';

/** The result of one section, for one number of records if it runs for several. */
export interface Measured {
  readonly section: Section;
  readonly records: number | null;
  readonly measures: readonly Measure[];
}

export interface Circumstances {
  readonly date: string;
  readonly machine: string;
  readonly node: string;
  readonly commit: string;
  readonly rounds: number;
}

export function circumstances(rounds: number): Circumstances {
  return {
    date: new Date().toISOString().slice(0, 16).replace('T', ' '),
    machine: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}`,
    node: process.version,
    commit: commit(),
    rounds,
  };
}

function commit(): string {
  try {
    const git = (...args: string[]) =>
      execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    const changed = git('status', '--porcelain', '--', 'src', 'schema') !== '';
    return `commit ${git('rev-parse', '--short', 'HEAD')}${changed ? ' and changes not committed' : ''}`;
  } catch {
    return 'no commit';
  }
}

export function headline({ date, machine, node, commit, rounds }: Circumstances): string {
  return `${date} UTC, ${machine}, Node ${node}, ${commit}, ${rounds} ${rounds === 1 ? 'round' : 'rounds'} in turns`;
}

const titleOf = ({ section, records }: Measured) =>
  records === null ? section.name : `${section.name}, ${records.toLocaleString('en-US')} records`;

export function table(all: readonly Measured[]): string {
  return all
    .map((one) => `### ${titleOf(one)}\n\n${one.section.says}\n\n${rowsOf(one.measures)}`)
    .join('\n\n');
}

function rowsOf(measures: readonly Measure[]): string {
  const rows = measures.map((one) => {
    const { name, value, low, high, unit, aim } = one;
    const spread = low === high ? '' : `${figure(low)} – ${figure(high)}`;
    const wanted = aim === undefined ? '' : 'least' in aim ? `≥ ${aim.least}` : `≤ ${aim.most}`;
    const met = isMet(one) === false ? ' **missed**' : '';
    return `| ${name} | ${figure(value)} ${unit} | ${spread} | ${wanted}${met} |`;
  });
  return ['| Measure | Median | Spread | Aim |', '| --- | ---: | ---: | --- |', ...rows].join('\n');
}

/** Formats with three significant digits and thousands separators. */
function figure(value: number): string {
  if (!Number.isFinite(value)) return 'none';
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(3)));
}

export const asJson = (at: Circumstances, all: readonly Measured[]) => ({
  ...at,
  sections: all.map(({ section, records, measures }) => ({
    name: section.name,
    records,
    measures: measures.map((one) => ({ ...one, met: isMet(one) })),
  })),
});
