import { packageVersion } from '../../runtime/package-version.js';
import type { Command } from '../command.js';
import { exitCodeMeanings } from '../exit-codes.js';
import { silentProgram } from '../program.js';
import { type Flag, placesOf } from './offers.js';

/** Returns the text of `schema/rosterd.1` (`man rosterd`), generated from the same command tree as help and completion. */
export function manPage(commands: readonly Command[]): string {
  const places = new Map(placesOf(silentProgram(commands)).map((place) => [place.path, place]));
  const lines = [
    '.\\" Generated from the commands by npm run generate.',
    `.TH ROSTERD 1 "" "rosterd ${packageVersion()}" "User Commands"`,
    '.nh',
    '.ad l',
    '.SH NAME',
    "rosterd \\- keep and verify a local SQL copy of an investment platform's investor records",
    '.SH SYNOPSIS',
    '.B rosterd',
    '.I command',
    '.RI [ argument ...]',
    '.RI [ option ...]',
    '.SH DESCRIPTION',
    escaped(
      'Results go to stdout; messages, progress and the log go to stderr. Commands read their configuration from ' +
        './config.json or the file named by --config or ROSTERD_CONFIG, and from the environment.',
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
        // Indented less than the rest: these lines are as wide as the help allows and must not wrap.
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
  ['HTTPS_PROXY', 'The proxy for https addresses of the platform, notices and after-sync hooks.'],
  ['NO_PROXY', 'Names, addresses and networks that are reached without it.'],
  ['NODE_EXTRA_CA_CERTS', 'A PEM file of certificate authorities to trust besides the public ones.'],
  ['NO_COLOR', 'Any value except the empty one turns colour off.'],
  ['CLICOLOR_FORCE', 'Any value except 0 turns colour on, even in a pipe.'],
];

const files: readonly (readonly [string, string])[] = [
  ['config.json', 'The configuration; rosterd init writes a first one.'],
  ['data/mirror.db', 'The mirror, unless the configuration sets another location.'],
];

function flagText({ long, short, value, argument }: Flag): string {
  const names = short === null ? long : `${short}, ${long}`;
  return value === null ? names : `${names} ${argument}`;
}

/** Escapes what roff interprets: backslashes, dashes, and a dot or quote at the start of a line. */
function escaped(text: string): string {
  const plain = text.replaceAll('\\', '\\e').replaceAll('-', '\\-');
  return /^[.']/.test(plain) ? `\\&${plain}` : plain;
}
