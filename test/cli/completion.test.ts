import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { allCommands } from '../../src/cli/commands-for.js';
import { type Place, placesOf } from '../../src/cli/completion/offers.js';
import { silentProgram } from '../../src/cli/program.js';
import { packageRoot } from '../../src/runtime/package-root.js';
import { isHere, offersOf, shells } from './completion/typed-in.js';
import { rosterd } from './fake-io.js';

const commands = await allCommands();

const places = placesOf(silentProgram(commands));
const scriptOf = async (shell: string) => (await rosterd(['completion', shell])).out;
const present = (program: string) => spawnSync(program, ['--version']).status === 0;

test.each(shells)('the completion script for %s has every command, flag and choice', async (shell) => {
  const script = await scriptOf(shell);
  for (const { path, words, flags } of places) {
    expect(script).toContain(`'${path}'`.replaceAll("'", shell === 'fish' ? "\\'" : "'"));
    for (const { text } of words) expect(script).toContain(text);
    for (const { long, value } of flags) {
      expect(script).toContain(shell === 'fish' ? `-l ${long.slice(2)} ` : long);
      if (value?.kind === 'choice') expect(script).toContain(value.choices.join(' '));
    }
  }
});

test('completion for an unknown shell lists the supported shells', async () => {
  const { code, out, err } = await rosterd(['completion', 'tcsh']);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain('Try: one of: bash, zsh, fish');
});

// A test title reports each missing shell; CI has at least bash.
for (const shell of shells.filter((name) => !isHere(name)))
  test(`${shell} is not installed on this machine: its script was checked but not run`, async () => {
    expect(await scriptOf(shell)).toContain('rosterd');
    expect(shell).not.toBe('bash');
  });

describe.each(shells.filter(isHere))('%s', (shell) => {
  test('completion offers the options of every command', async () => {
    const lineTo = (path: string) => ['rosterd', path].filter((word) => word !== '').join(' ');
    const lines = places.flatMap(({ path }) => [`${lineTo(path)} `, `${lineTo(path)} --`]);
    const offers = offersOf(shell, await scriptOf(shell), lines);
    for (const { path, words, flags } of places) {
      const behind = (typed: string) => offers.get(`${lineTo(path)} ${typed}`) ?? [];
      const texts = words.map(({ text }) => text).sort();
      expect([path, behind('').filter((text) => !text.startsWith('-'))]).toEqual([path, texts]);
      const longs = [...new Set(flags.map(({ long }) => long))].sort();
      expect([path, behind('--')]).toEqual([path, longs]);
    }
  });

  test('completion offers matches for a partial word and for the value of a flag', async () => {
    const wanted: Readonly<Record<string, readonly string[]>> = {
      'rosterd conf': ['config'],
      'rosterd config v': ['validate'],
      'rosterd config validate --js': ['--json'],
      'rosterd export --format ': ['csv', 'founder-csv', 'jsonl', 'parquet', 'xlsx'],
      'rosterd export --format p': ['parquet'],
      'rosterd export --identity --out report': ['report.csv', 'reports'],
      'rosterd sync --source ': [],
      'rosterd sync --source export --resy': ['--resync'],
      'rosterd nonsense --he': ['--help'],
    };
    const offers = offersOf(shell, await scriptOf(shell), Object.keys(wanted));
    expect(Object.fromEntries(offers)).toEqual(wanted);
  });
});

describe('the manual', () => {
  const page = join(packageRoot, 'schema', 'rosterd.1');

  test('the manual page has every command and flag', () => {
    const text = readFileSync(page, 'utf8').replaceAll('\\-', '-');
    for (const { name } of commands) expect(text).toContain(`.SS ${name}`);
    for (const { flags } of places as readonly Place[])
      for (const { long } of flags.filter((flag) => flag.long !== '--version')) expect(text).toContain(long);
  });

  if (present('man'))
    test('the manual page renders without a warning in 80 columns', () => {
      const env = { PATH: process.env.PATH, MANWIDTH: '80', MANROFFOPT: '-ww', LC_ALL: 'C.UTF-8' };
      const set = spawnSync('man', ['--warnings', '--local-file', page], { env, encoding: 'utf8' });
      expect([set.status, set.stderr]).toEqual([0, '']);
      const lines = set.stdout.split('\n');
      expect(lines.filter((line) => line.length > 80)).toEqual([]);
      expect(set.stdout).toMatch(/^ {3}export$/m);
      expect(set.stdout).toContain('--format <format>');
    });
});
