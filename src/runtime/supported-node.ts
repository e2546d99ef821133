/**
 * The oldest supported version of Node, equal to `engines` in package.json. It is determined by undici 8 and by the
 * Node-API of the SQLite driver. This module imports nothing and uses only old syntax, so that an older Node can load it.
 */
export const oldestNode = '22.19.0';

/** The release lines that the whole suite runs on. */
export const testedNodeLines: readonly number[] = [22, 24, 26];

/** Returns a message and a hint for a version that is too old; null for any other. */
export function nodeTooOld(version: string): { message: string; hint: string } | null {
  const [oldestMajor = 0, oldestMinor = 0] = numbers(oldestNode);
  const [major = 0, minor = 0] = numbers(version);
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return null;
  return {
    message: `Node ${version} is too old for rosterd, which needs Node ${oldestNode} or later`,
    hint: 'nvm install 24',
  };
}

/**
 * Returns a message and a hint for what is not Node itself; null for Node. Bun and Deno lack parts of Node that rosterd uses, and
 * Yarn Plug'n'Play replaces its files by some that cannot be synced to the disk.
 */
export function notNode(
  versions: Readonly<Record<string, string | undefined>>,
): { message: string; hint: string } | null {
  const { bun, deno, pnp } = versions;
  const other = bun === undefined ? deno && `Deno ${deno}` : `Bun ${bun}`;
  if (other !== undefined)
    return { message: `this is ${other}, and rosterd needs Node`, hint: 'npx rosterd …' };
  if (pnp === undefined) return null;
  return {
    message: "Yarn Plug'n'Play cannot sync a file to the disk, and rosterd needs that",
    hint: 'yarn config set nodeLinker node-modules && yarn install',
  };
}

const numbers = (version: string) => version.split('.').map(Number);
