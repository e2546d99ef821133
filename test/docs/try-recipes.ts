import { readOptions, several } from '../support/options.js';
import { demoMirror } from './recipes/demo-mirror.js';
import { type Program, programs, queriesOf, recipesOf, recipesPage } from './recipes/page.js';
import { report } from './recipes/report.js';
import { findProgram, runQueryIn, runRecipe, sqlPrograms } from './recipes/run.js';

const { require: named } = readOptions({
  name: 'npm run test:recipes',
  about: `Runs the recipes of docs/recipes.md, as they are on the page, against a mirror of a demonstration platform. A
program that is not installed is reported and is no failure, unless it is required.`,
  options: { require: several('programs that must be installed', [...programs, 'all'], 'PROGRAM') },
});
const required = named.includes('all') ? programs : named;

const page = recipesPage();
const demo = await demoMirror();
try {
  const results = programs.map((program: Program) => {
    const found = findProgram(program);
    if (found === null) return { program, found, ran: 0, wrong: [] };
    const recipes = recipesOf(page).filter((recipe) => recipe.program === program);
    const queries = sqlPrograms.includes(program) ? queriesOf(page) : [];
    const wrong = [
      ...recipes.map((recipe) => runRecipe(recipe, found, demo)),
      ...queries.map(({ name, sql }) => {
        const why = runQueryIn(program, found, sql, demo);
        return why === null ? null : `${name}: ${why}`;
      }),
    ];
    return {
      program,
      found,
      ran: recipes.length + queries.length,
      wrong: wrong.filter((why) => why !== null),
    };
  });
  const { lines, failed } = report(results, required);
  for (const line of lines) console.log(line);
  process.exitCode = failed ? 1 : 0;
} finally {
  demo.close();
}
