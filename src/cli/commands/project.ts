import type { Command } from 'commander'
import type { ProjectCheckFlags, ProjectListFlags } from '../actions/project.js'
import type { Host } from '../process/host.js'
import type { Output } from '../process/output.js'
import { paintFor } from '../view/paint.js'
import { collect } from './collect.js'
import { exampleText } from './help-text.js'

export const addProject = (program: Command, host: Host, output: Output): void => {
  const project = program
    .command('project')
    .summary('check and list projects')
    .description('Checks and lists projects: YAML files that say which nodes a session runs through.')
  project
    .command('check')
    .summary('check a project file and draw its graph')
    .description('Checks a project file, tells every fault with its place, and draws the graph of one that is sound.')
    .argument('<file>', 'the project file, YAML')
    .option('--models <dir>', 'models that it may name; without any, names of models are not checked', collect)
    .option('--nodes <file or package>', 'custom nodes that it may name; may be repeated', collect)
    .option('--mermaid', 'print the graph as a Mermaid flowchart, and nothing else')
    .option('--json', 'print what was found as JSON')
    .addHelpText('after', () =>
      exampleText(paintFor(host.stdout, host.env), [
        ['rxspeech project check projects/Acme/calls/1.yaml', 'what is wrong with it, or how it looks'],
      ]),
    )
    .action(async (file: string, flags: ProjectCheckFlags) => {
      const { checkProjectFile } = await import('../actions/project.js')
      await checkProjectFile(file, flags, host, output)
    })
  project
    .command('list')
    .summary('list the projects of folders')
    .description(
      'Lists the projects of folders laid out <tenant>/<name>/<version>.yaml, one a line, and says which are broken.',
    )
    .option('--projects <dir>', 'a folder of projects; may be repeated', collect)
    .option('--models <dir>', 'models that they may name', collect)
    .option('--nodes <file or package>', 'custom nodes that they may name; may be repeated', collect)
    .option('--json', 'print the list as JSON')
    .action(async (flags: ProjectListFlags) => {
      const { listProjects } = await import('../actions/project.js')
      await listProjects(flags, host, output)
    })
}
