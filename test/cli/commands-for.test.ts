import { expect, test } from 'vitest';
import { commands } from '../../src/cli/commands/index.js';
import { commandsFor } from '../../src/cli/commands-for.js';
import { rosterd } from './fake-io.js';

test.each(commands.map(({ name }) => name))('commandsFor loads only the command %s', async (name) => {
  const found = await commandsFor([...name.split(' '), '--json']);
  expect(found).toEqual(commands.filter((command) => command.name === name));
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
