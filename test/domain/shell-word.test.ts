import { expect, test } from 'vitest';
import { shellWord } from '../../src/domain/shell-word.js';

test.each([
  ['/etc/rosterd/config.json', '/etc/rosterd/config.json'],
  ['/srv/my files/räume', '"/srv/my files/räume"'],
  ["it's", '"it\'s"'],
  ['lake "1"', `'lake "1"'`],
  [`a'b$HOME`, `'a'\\''b$HOME'`],
  ['stop!', "'stop!'"],
  ['', '""'],
])('shellWord: %s is written as one word of a shell', (text, word) => {
  expect(shellWord(text)).toBe(word);
});
