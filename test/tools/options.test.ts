import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { packageRoot } from '../../src/runtime/package-root.js';
import {
  amount,
  choice,
  flag,
  lineWith,
  OptionRefused,
  parseOptions,
  several,
  text,
  whole,
} from '../support/options.js';

const command = {
  name: 'npm run example',
  about: 'Shows what a command takes.',
  options: {
    seed: whole('the course follows from it', 1),
    rounds: whole('rounds', 3, { least: 1 }),
    round: whole('this one alone', null),
    hours: amount('how long', 2),
    database: choice('where the mirrors are', ['sqlite', 'postgres'], 'sqlite'),
    only: several('these parts alone', ['steady', 'hour', 'all'], 'PART'),
    results: text('where outcomes go', null, 'FILE'),
    first: flag('ends at the first violation'),
  },
};
const read = (...words: string[]) => {
  const parsed = parseOptions(command, words);
  if ('help' in parsed) throw new Error('expected values');
  return parsed.values;
};

test('options: those that are not given have their initial values', () => {
  expect(read()).toEqual({
    seed: 1,
    rounds: 3,
    round: null,
    hours: 2,
    database: 'sqlite',
    only: [],
    results: null,
    first: false,
  });
});

test('options: texts become values', () => {
  expect(
    read(
      ...[
        '--seed',
        '0',
        '--rounds=1_000',
        '--round',
        '7',
        '--hours',
        '.5',
        '--database',
        'postgres',
        '--first',
      ],
      ...['--only', 'hour,all', '--only', 'steady', '--results', 'a b'],
    ),
  ).toEqual({
    seed: 0,
    rounds: 1000,
    round: 7,
    hours: 0.5,
    database: 'postgres',
    only: ['hour', 'all', 'steady'],
    results: 'a b',
    first: true,
  });
});

describe('options: a mistake is named with its value and what is allowed', () => {
  test.each([
    [['--seed', 'x'], '--seed takes a whole number from 0, not "x"'],
    [['--seed', ''], '--seed takes a whole number from 0, not ""'],
    [['--seed', '1.5'], '--seed takes a whole number from 0, not "1.5"'],
    [['--seed', '1e3'], '--seed takes a whole number from 0, not "1e3"'],
    [['--seed', '9007199254740993'], '--seed takes a whole number from 0, not "9007199254740993"'],
    [['--rounds', '0'], '--rounds takes a whole number from 1, not "0"'],
    [['--hours', '0'], '--hours takes a number above 0, not "0"'],
    [['--hours', 'Infinity'], '--hours takes a number above 0, not "Infinity"'],
    [['--database', 'postgress'], '--database takes sqlite, postgres, not "postgress"'],
    [['--only', 'hour,year'], '--only knows no "year"; there are steady, hour, all'],
    [['--results', ''], '--results takes a text that is not empty'],
    [['--seed', '1', '--seed', '2'], '--seed is given twice'],
    [['--bogus'], "Unknown option '--bogus'"],
    [['--seed'], "Option '--seed <value>' argument missing"],
    [['--first=yes'], "Option '--first' does not take an argument"],
    [['file.ts'], 'it takes options only, not "file.ts"'],
  ])('options: the mistake in %j is named', (words, mistake) => {
    expect(() => read(...words)).toThrow(new OptionRefused(mistake));
  });
});

test('options: words beside them are for a command that takes some', () => {
  const parsed = parseOptions({ ...command, rest: '[file…]' }, ['a.ts', '--first', 'b.ts']);
  expect(parsed).toMatchObject({ rest: ['a.ts', 'b.ts'], values: { first: true } });
});

test('options: --help lists each with what it takes, its words and its initial value', () => {
  expect(parseOptions(command, ['--seed', 'x', '--help'])).toEqual({
    help: `usage: npm run example [-- options]

Shows what a command takes.

  --seed N                    the course follows from it (1)
  --rounds N                  rounds (3)
  --round N                   this one alone
  --hours N                   how long (2)
  --database sqlite|postgres  where the mirrors are (sqlite)
  --only PART                 these parts alone
  --results FILE              where outcomes go
  --first                     ends at the first violation`,
  });
});

test('options: a line that runs a command again names the values that differ from those it has without them', () => {
  const initial = read();
  expect(lineWith(command, initial)).toBe('npm run example');
  expect(lineWith(command, { ...initial, seed: 7, round: 0, only: ['steady', 'hour'], first: true })).toBe(
    'npm run example -- --seed 7 --round 0 --only steady --only hour --first',
  );
  expect(lineWith(command, { ...initial, results: 'my file.json' })).toBe(
    'npm run example -- --results "my file.json"',
  );
});

describe('options: a command of this repository', () => {
  const file = join(packageRoot, 'test', 'tools', 'rules.ts');
  const run = (...words: string[]) =>
    spawnSync(process.execPath, ['--import', 'tsx', file, ...words], { encoding: 'utf8', cwd: packageRoot });

  test('options: a command of this repository explains itself and ends with 0', () => {
    const { status, stdout, stderr } = run('--help');
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^usage: npm run rules \[-- options\]\n/);
  });

  test('options: a command of this repository refuses what it does not know with one sentence, the next step and 2', () => {
    const { status, stdout, stderr } = run('--mising');
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toBe("error: Unknown option '--mising'\nTry: npm run rules -- --help\n");
  });

  test('options: every command of this repository reads its options with options.ts', () => {
    const { scripts } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    // What comes after its name belongs to vitest.
    const passesOn = ['canaries:tests'];
    const started = Object.entries(scripts).flatMap(([name, script]) => {
      const path = /\b(?:tsx|--import tsx) (test\/\S+\.ts)/.exec(script)?.[1];
      return path === undefined || passesOn.includes(name) ? [] : [path];
    });
    expect(started.length).toBeGreaterThan(20);
    const textOf = (path: string) => readFileSync(join(packageRoot, path), 'utf8');
    expect(started.filter((path) => !textOf(path).includes('readOptions('))).toEqual([]);
    const others = readdirSync(join(packageRoot, 'test'), { recursive: true, encoding: 'utf8' })
      .map((path) => join('test', path))
      .filter((path) => path.endsWith('.ts') && /\bparseArgs\b.*'node:util'/.test(textOf(path)));
    expect(others).toEqual([join('test', 'support', 'options.ts')]);
  });
});
