import type { Command } from 'commander'
import type { AddModelFlags, ListModelsFlags } from '../options/plan-models.js'
import type { Host } from '../process/host.js'
import type { Output } from '../process/output.js'
import { paintFor } from '../view/paint.js'
import { collect } from './collect.js'
import { exampleText } from './help-text.js'

export const addModels = (program: Command, host: Host, output: Output): void => {
  const command = program
    .command('models')
    .summary('show models, and make one')
    .description(
      'Shows the models of folders, and makes models of grammars and phrase lists. A service sees them when it starts.',
    )
    .helpCommand(false)
    .addHelpText('after', () =>
      exampleText(paintFor(host.stdout, host.env), [
        ['rxspeech models --models ./models', 'what is there, and what is wrong with it'],
        ['rxspeech models add orders --phrases orders.txt --models ./models', 'a model of sentences, one a line'],
      ]),
    )
  addList(command, host, output)
  addAdd(command, output)
}

const addList = (command: Command, host: Host, output: Output): void => {
  command
    .command('list', { isDefault: true })
    .summary('show the models of folders; the same as models alone')
    .option(
      '--models <dir>',
      'models, <tenant>/<name>/<version>/model.json; may be repeated (default: those of the package)',
      collect,
    )
    .option('--json', 'print JSON')
    .action(async (flags: ListModelsFlags) => {
      const { listModels } = await import('../actions/models.js')
      listModels(flags, host, output)
    })
}

const addAdd = (command: Command, output: Output): void => {
  command
    .command('add')
    .summary('make a model of a grammar or of phrases')
    .description(
      'Makes a model of the embedded engine. It is put in its place only when the engine has loaded it; none is written over.',
    )
    .argument('<name>', 'what clients call it: letters, digits, ".", "_" and "-"')
    .option('--grammar <file>', 'a grammar in the JSpeech Grammar Format, with one public rule')
    .option('--phrases <file>', 'sentences, one a line')
    .option('--models <dir>', 'the folder of models that it goes into')
    .option('--tenant <name>', 'whose it is (default: Default)')
    .option('--version <version>', 'its version (default: one more than the newest)')
    .option('--dictionary <file>', 'words that the dictionary lacks: a word and its phones a line')
    .option('--language <name>', 'en-us or fr-fr (default: en-us)')
    .option('--batch', 'audio may come faster than real time')
    .option('--json', 'print JSON')
    .action(async (name: string, flags: AddModelFlags) => {
      const { addToModels } = await import('../actions/models.js')
      await addToModels(name, flags, output)
    })
}
