import { packageVersion } from '../../runtime/package-version.js';
import { commands } from '../commands/index.js';
import { exitCodeMeanings } from '../exit-codes.js';
import { silentProgram } from '../program.js';
import { type Flag, placesOf } from './offers.js';

/** The text of `schema/rosterd.1`: `man rosterd`, made from the same tree as help and completion. */
export function manPage(): string {
  const places = new Map(placesOf(silentProgram(commands)).map((place) => [place.path, place]));
  const lines = [
    '.\\" Made by npm run generate from the commands themselves.',
    `.TH ROSTERD 1 "" "rosterd ${packageVersion()}" "User Commands"`,
    '.nh',
    '.ad l',
    '.SH NAME',
    "rosterd \\- keep a local SQL copy of an investment platform's investor records, and prove it",
    '.SH SYNOPSIS',
    '.B rosterd',
    '.I command',
    '.RI [ argument ...]',
    '.RI [ option ...]',
    '.SH DESCRIPTION',
    escaped(
      'Results go to stdout, talk goes to stderr. Every command that reads the configuration takes it from ' +
        './config.json, from the file named by --config or ROSTERD_CONFIG, and from the environment.',
    ),
    '.SH COMMANDS',
    ...commands.flatMap(({ name, summary, args = [], examples }) => [
      `.SS ${escaped([name, ...args.map((arg) => arg.name)].join(' '))}`,
      `${escaped(summary)}.`,
      ...args.flatMap((arg) => ['.TP', `.I ${escaped(arg.name)}`, escaped(arg.summary)]),
      ...(places.get(name)?.flags ?? [])
        .filter((flag) => !common.includes(flag.long))
        .flatMap((flag) => ['.TP', `.B ${escaped(flagText(flag))}`, escaped(flag.summary)]),
      '.PP',
      'Examples:',
      ...examples.flatMap(([line, does]) => [
        '.PP',
        '.nf',
        // Less indented than the rest: these lines are as wide as help lets them be, and may not be broken.
        '.in 2n',
        escaped(line),
        '.in',
        '.fi',
        escaped(does),
      ]),
    ]),
    '.SH OPTIONS OF EVERY COMMAND',
    ...(places.get(commands[0]?.name ?? '')?.flags ?? [])
      .filter((flag) => common.includes(flag.long))
      .flatMap((flag) => ['.TP', `.B ${escaped(flagText(flag))}`, escaped(flag.summary)]),
    '.SH EXIT STATUS',
    ...exitCodeMeanings.flatMap(([code, meaning]) => ['.TP', `.B ${code}`, escaped(meaning)]),
    '.SH ENVIRONMENT',
    ...environment.flatMap(([name, meaning]) => ['.TP', `.B ${name}`, escaped(meaning)]),
    '.SH FILES',
    ...files.flatMap(([name, meaning]) => ['.TP', `.I ${escaped(name)}`, escaped(meaning)]),
  ];
  return `${lines.join('\n')}\n`;
}

const common = ['--log-level', '--log-format', '--help'];

const environment: readonly (readonly [string, string])[] = [
  ['ROSTERD_CONFIG', 'The configuration file, unless --config names one.'],
  ['ROSTERD_SECTION__OPTION', 'Any option: ROSTERD_SYNC__INTERVAL_SECONDS=30 sets sync.intervalSeconds.'],
  ['NO_COLOR', 'Any value but the empty one switches colour off.'],
  ['CLICOLOR_FORCE', 'Any value but 0 switches it on behind a pipe.'],
];

const files: readonly (readonly [string, string])[] = [
  ['config.json', 'The configuration; rosterd init writes a first one.'],
  ['data/mirror.db', 'The mirror, unless the configuration says another place.'],
];

function flagText({ long, short, value, argument }: Flag): string {
  const names = short === null ? long : `${short}, ${long}`;
  return value === null ? names : `${names} ${argument}`;
}

/** A backslash, a dash and a dot or quote at the start of a line mean something to roff. */
function escaped(text: string): string {
  const plain = text.replaceAll('\\', '\\e').replaceAll('-', '\\-');
  return /^[.']/.test(plain) ? `\\&${plain}` : plain;
}
