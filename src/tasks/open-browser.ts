import { spawn } from 'node:child_process';

/** What each system opens an address with; none of them is a shell, so an address is never a command. */
const openers: Readonly<Record<string, readonly [program: string, ...args: string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Best effort: whoever has no browser here has the printed link. */
export function openBrowser(address: string, platform: string = process.platform): void {
  const [program, ...args] = openers[platform] ?? ['xdg-open'];
  const child = spawn(program, [...args, address], { stdio: 'ignore', detached: true });
  child.on('error', () => {});
  child.unref();
}
