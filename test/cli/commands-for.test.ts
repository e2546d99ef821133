import { expect, test } from 'vitest';
import { commands } from '../../src/cli/commands/index.js';
import { commandsFor } from '../../src/cli/commands-for.js';

test.each(commands.map(({ name }) => name))('%s is found by its words alone', async (name) => {
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
])('%j is answered from all of them', async (args) => {
  expect(await commandsFor(args)).toBe(commands);
});
