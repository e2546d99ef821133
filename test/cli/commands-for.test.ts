import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { configOptions } from '../../src/cli/command.js';
import { adviceWithConfig, allCommands, commandsFor, takesConfig } from '../../src/cli/commands-for.js';
import { Fault } from '../../src/domain/fault.js';
import { packageRoot } from '../../src/runtime/package-root.js';
import { rosterd } from './fake-io.js';

const commands = await allCommands();

test.each(commands.map(({ name }) => name))('commandsFor loads only the command %s', async (name) => {
  const found = await commandsFor([...name.split(' '), '--json']);
  expect(found).toEqual(commands.filter((command) => command.name === name));
});

test('each file in the folder of commands is a command that allCommands names', () => {
  const helpers = ['groups', 'outlines'];
  const files = readdirSync(join(packageRoot, 'src', 'cli', 'commands')).map((file) => basename(file, '.ts'));
  expect(files.filter((file) => !helpers.includes(file)).sort()).toEqual(
    commands.map(({ name }) => name.replace(' ', '-')).sort(),
  );
});

test.each([
  [['--help']],
  [[]],
  [['statsu']],
  [['index']],
  [['groups']],
  [['endpoints']],
  [['endpoints', '--help']],
  [['endpoints', 'lsit']],
  [['toString']],
  [['../run']],
  [['config/show']],
])('commandsFor returns the outlines of all commands for %j', async (args) => {
  const found = await commandsFor(args);
  expect(found.map(({ name, summary, args: takes }) => ({ name, summary, args: takes }))).toEqual(
    commands.map(({ name, summary, args: takes }) => ({ name, summary, args: takes })),
  );
});

test.each([[['--help']], [['endpoints', '--help']], [['config']], [['help']], [['statsu']], [[]]])(
  'the outlines of commands print the same for %j as the commands',
  async (args) => {
    const { io: _, ...outlined } = await rosterd(args);
    const { io: __, ...complete } = await rosterd(args, undefined, commands);
    expect(outlined).toEqual(complete);
  },
);

test('a command that is named in an unusual way runs from its outline', async () => {
  const { code, out } = await rosterd(['--', 'version']);
  expect([code, out]).toEqual([0, (await rosterd(['version'])).out]);
});

test.each(commands.map((command) => [command.name, command] as const))(
  'it is known whether rosterd %s takes --config',
  (name, { options = [] }) => {
    expect(takesConfig(name)).toBe(options.some(({ flags }) => flags.startsWith('--config ')));
  },
);

test.each([
  [
    'Try: rosterd doctor, which names the token',
    'Try: rosterd doctor --config /etc/a.json, which names the token',
  ],
  [
    'Try: Run `rosterd sync` or `rosterd run` first.',
    'Try: Run `rosterd sync --config /etc/a.json` or `rosterd run --config /etc/a.json` first.',
  ],
  ['Try: npx rosterd vault remove sign-in/x', 'Try: npx rosterd vault remove --config /etc/a.json sign-in/x'],
  ['Try: rosterd query "SELECT 1"', 'Try: rosterd query --config /etc/a.json "SELECT 1"'],
  [
    'The fetched pages are kept. Try: rosterd sync',
    'The fetched pages are kept. Try: rosterd sync --config /etc/a.json',
  ],
  [
    'To delete: rosterd sync --source a --accept-deletions',
    'To delete: rosterd sync --config /etc/a.json --source a --accept-deletions',
  ],
  [
    'A page that is being written is finished first. To go on: rosterd resume',
    'A page that is being written is finished first. To go on: rosterd resume --config /etc/a.json',
  ],
  ['Try: rosterd sync again', 'Try: rosterd sync --config /etc/a.json again'],
])('advice names the configuration that the user named: %s', (note, completed) => {
  expect(adviceWithConfig(note, '/etc/a.json')).toBe(completed);
});

test.each([
  'rosterd sync is how this text begins, and it says nothing to type',
  'Try: give the user that runs rosterd read access',
  'Try: rosterd demo --database ./data/demo.db',
  'Try: rosterd lake check ./lake',
  'Try: rosterd sync --config other.json',
  'Try: rosterd vault status --config other.json',
  'Try: rosterd syncs nothing; if no other rosterd is running, delete /run/rosterd status',
])('advice stays as it is where nothing takes a configuration, or one is named: %s', (note) => {
  expect(adviceWithConfig(note, '/etc/a.json')).toBe(note);
});

test('a hint after an error repeats --config, quoted for a shell, and only there', async () => {
  const run = async () => {
    throw new Fault('usage', 'rosterd sync failed', { hint: 'rosterd sync --resync' });
  };
  const failing = { name: 'status', summary: '', examples: [], options: configOptions, run };
  const { code, err } = await rosterd(['status', '--config', 'my mirror.json'], undefined, [failing]);
  expect([code, err]).toEqual([
    2,
    'error: rosterd sync failed\nTry: rosterd sync --config "my mirror.json" --resync\n',
  ]);
  const { err: without } = await rosterd(['status'], undefined, [failing]);
  expect(without).toBe('error: rosterd sync failed\nTry: rosterd sync --resync\n');
});
