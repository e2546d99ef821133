import type { Flag, Place } from './offers.js';

/** Returns a script to source, or to save as `rosterd.fish` in `~/.config/fish/completions`. */
export function fishCompletion(places: readonly Place[]): string {
  const paths = places.filter(({ path }) => path !== '').map(({ path }) => quoted(path));
  const lines = places.flatMap(({ path, words, flags }) => {
    const here = `complete -c rosterd -n ${quoted(`__rosterd_at ${quoted(path)}`)}`;
    return [
      ...words.map(({ text, summary }) => `${here} -a ${quoted(text)} -d ${quoted(summary)}`),
      ...flags.map((flag) => `${here} ${flagWords(flag)} -d ${quoted(flag.summary)}`),
    ];
  });
  return `# fish completion for rosterd: rosterd completion fish | source
function __rosterd_at
    set -l at
    for word in (commandline -opc)[2..-1]
        set -l key (string join ' ' -- $at $word)
        contains -- $key ${paths.join(' ')}
        and set -a at $word
    end
    test "$at" = "$argv[1]"
end
complete -c rosterd -f
${lines.join('\n')}
`;
}

function flagWords({ long, short, value }: Flag): string {
  const names = `-l ${long.slice(2)}${short === null ? '' : ` -s ${short.slice(1)}`}`;
  if (value === null) return names;
  if (value.kind === 'file') return `${names} -r -F`;
  return value.kind === 'choice' ? `${names} -x -a ${quoted(value.choices.join(' '))}` : `${names} -x`;
}

/** Within single quotes, fish interprets only the quote and the backslash. */
function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
