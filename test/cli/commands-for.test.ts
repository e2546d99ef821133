import { expect, test } from 'vitest';
import { commands } from '../../src/cli/commands/index.js';
import { commandsFor } from '../../src/cli/commands-for.js';

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
])('commandsFor loads all commands for %j', async (args) => {
  expect(await commandsFor(args)).toBe(commands);
});
