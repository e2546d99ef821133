import { describe, expect, test } from 'vitest';
import { allCommands } from '../../src/cli/commands-for.js';
import { type Flag, placesOf } from '../../src/cli/completion/offers.js';
import { silentProgram } from '../../src/cli/program.js';
import { rosterd } from './fake-io.js';

const commands = await allCommands();

const places = placesOf(silentProgram(commands));
const placeOf = (name: string) => places.find(({ path }) => path === name);

/** Swaps two letters, a common typing error. */
function misspelt({ long }: Flag): string {
  const at = long.length - 2;
  return `${long.slice(0, at)}${long.slice(at + 1)}${long.charAt(at)}`;
}

describe.each(commands)('$name', ({ name, args = [], options = [] }) => {
  const words = name.split(' ');
  const place = placeOf(name);

  test('the help describes each argument and flag, without a full stop', async () => {
    const { out } = await rosterd([...words, '--help']);
    for (const { flags, summary } of options) {
      expect(out).toContain(flags.replace(/^--no-/, '--no-'));
      expect(summary).toMatch(/^[^A-Z].*[^.]$|^[A-Z]{2,}.*[^.]$/);
    }
    for (const arg of args) expect(out).toContain(arg.summary.split(' ')[0]);
    expect(new Set(options.map(({ flags }) => flags.split(' ')[0])).size).toBe(options.length);
  });

  test('an unknown flag is rejected with the next command', async () => {
    const { code, out, err } = await rosterd([...words, '--qqqqqqqqqq']);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(
      new RegExp(`^error: unknown option '--qqqqqqqqqq'\nTry: rosterd (${name} )?--help\n$`),
    );
  });

  test('a misspelt flag is rejected with the closest flag', async () => {
    for (const flag of place?.flags ?? []) {
      const wrong = misspelt(flag);
      if (place?.flags.some(({ long }) => long === wrong) === true) continue;
      const { code, err } = await rosterd([...words, wrong]);
      expect(code).toBe(2);
      expect(err).toMatch(new RegExp(`Did you mean (one of )?.*${flag.long}`));
    }
  });
});

test('a misspelt command, also within a group, is rejected with the closest one', async () => {
  for (const { name } of commands) {
    const words = name.split(' ');
    const last = words.at(-1) ?? '';
    const wrong = [...words.slice(0, -1), `${last}x`];
    const { code, err } = await rosterd(wrong);
    expect([name, code]).toEqual([name, 2]);
    expect(err).toMatch(new RegExp(`Did you mean (one of )?.*${last}`));
  }
});

test('a second value of an option that selects what is read is refused, because it would replace the first', async () => {
  const twice = async (command: string, option: string, ...values: readonly string[]) => {
    const { code, out, err } = await rosterd([
      ...command.split(' '),
      ...values.flatMap((value) => [option, value]),
    ]);
    expect([command, code, out]).toEqual([command, 2, '']);
    return err.split('\n')[0];
  };
  expect(await twice('export', '--source', 'acme', 'beta')).toBe(
    "error: option '--source <name>' argument 'beta' is invalid. It is the second one, and only one is taken.",
  );
  expect(await twice('changes', '--source', 'acme', 'acme')).toContain('only one is taken');
  expect(await twice('sources list', '--state', 'failing', 'halted')).toContain('only one is taken');
  expect(await twice('sources list', '--state', 'bad')).toContain('Allowed choices are');
  expect(await twice('sync', '--round', 'ofr_1', 'ofr_2')).toContain('only one is taken');
});

test('an empty id of an endpoint is refused before a request', async () => {
  for (const name of ['show', 'update', 'rotate', 'test', 'reenable', 'delete']) {
    const more = name === 'update' ? ['--url', 'https://hooks.example.com/'] : [];
    const { code, err } = await rosterd(['endpoints', name, '', ...more]);
    expect([name, code, err]).toEqual([
      name,
      2,
      'error: <id> is ""\nTry: name it; a variable in the command may be empty\n',
    ]);
  }
});

test('an empty path is refused: it would mean the current folder, and comes from a variable that is not set', async () => {
  for (const [command, flag] of [
    ['export --identity --format founder-csv', '--out'],
    ['export', '--check'],
    ['endpoints create https://hooks.example.com/', '--secret-file'],
    ['endpoints rotate whe_1', '--secret-file'],
    ['service install --dry-run', '--root'],
    ['service install --dry-run', '--config'],
    ['status', '--config'],
    ['query 1', '--database'],
    ['demo', '--database'],
    ['sandbox', '--data'],
    ['sandbox', '--import'],
    ['migrate', '--from'],
    ['migrate --from mirror.db', '--to'],
  ] as const) {
    const { code, out, err } = await rosterd([...command.split(' '), flag, '']);
    expect([command, code, out, err]).toEqual([
      command,
      2,
      '',
      `error: ${flag} is ""\nTry: name it; a variable in the command may be empty\n`,
    ]);
  }
});
