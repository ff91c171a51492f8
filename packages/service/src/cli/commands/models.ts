import type { Command } from 'commander'
import type { FoundModel } from 'rxspeech-engines/models/model-folders'
import { findModels } from 'rxspeech-engines/models/model-registry'
import { whatItReads } from 'rxspeech-engines/models/what-it-reads'
import { builtInEngines } from '../../start/built-ins.js'
import { modelFolders, modelReportFlags } from '../input/find-models.js'
import {
  defineCommand,
  defineCommandGroup,
  refuseUnknownSubcommands,
  type CommandCall,
  type CommandContext,
} from '../parsing/command.js'
import { sampleModel } from '../process/package-files.js'
import { tableText } from '../view/plain-text.js'
import { addFlags, addToModels } from './models-add.js'
import { checkModel } from './models-check.js'
import { hearFiles, hearFlags } from './models-hear.js'
import { lintModels } from './models-lint.js'
import { pull, pullFlags } from './models-pull.js'
import { removeFlags, removeModel } from './models-remove.js'
import { searchFlags, searchModels } from './models-search.js'
import { typesFlags, writeTypes } from './models-types.js'

/** `rxspeech models`. */
export const addModels = (command: Command, context: CommandContext): void => {
  defineCommandGroup(command.helpCommand(false), context, {
    description:
      'Lists the models of folders, downloads models for any speech, and creates models from grammars, phrase lists and folders. A service finds them when it starts, and after rxspeech reload.',
    examples: [
      ['rxspeech models --models ./models', 'list the models and their faults'],
      ['rxspeech models search fr', 'models of the catalogue that read French'],
      ['rxspeech models pull kroko-fr', 'download one of them'],
      ['rxspeech models add orders --phrases orders.txt --models ./models', 'a model of sentences, one per line'],
      ['rxspeech models add english ./zipformer-en --models ./models', 'a model of a folder, for any speech'],
    ],
  })
  refuseUnknownSubcommands(command)
  const list = command.command('list', { isDefault: true })
  defineCommand(list.summary('list the models of folders; the same as models without a command'), context, {
    flags: modelReportFlags,
    run: listModels,
  })
  const add = command.command('add').argument('<name>', 'what clients call it: letters, digits, ".", "_" and "-"')
  defineCommand(add.summary('create a model from a folder of sherpa-onnx, a grammar or phrases'), context, {
    description:
      'Creates a model: of a folder with a model of sherpa-onnx, whose type its files show, or of sentences for the embedded engine. It is added only after its engine has loaded it; no model is overwritten.',
    argument: ['[dir]', 'a folder with .onnx files and tokens.txt'],
    flags: addFlags,
    examples: [
      ['rxspeech models add orders --phrases orders.txt --models ./models', 'a model of sentences, one per line'],
      ['rxspeech models add english ./sherpa-onnx-whisper-tiny.en --models ./models', 'a model of any speech'],
    ],
    run: (call: CommandCall<typeof addFlags, string | undefined>) => addOne(call, add.args[0] ?? ''),
  })
  defineCommand(command.command('search').summary('find a model of the catalogue'), context, {
    description:
      'Lists the published models that the catalogue describes: the size of their download and on disk, whether text appears while someone speaks, their licence and their languages. Without words all of them. The exit code is 3 if none fits.',
    argument: ['[words...]', 'a language, such as fr or French, a part of the name, live, or a licence'],
    flags: searchFlags,
    examples: [
      ['rxspeech models search fr', 'models that read French'],
      ['rxspeech models search english live', 'models for English whose text appears while someone speaks'],
    ],
    run: searchModels,
  })
  defineCommand(command.command('pull').summary('download a model and add it'), context, {
    description:
      'Downloads a model of the catalogue or another archive of sherpa-onnx, verifies its checksum, unpacks the files that are needed, and loads it. It is added only when all of that has succeeded. A download that was interrupted continues with the next call.',
    argument: ['<model>', 'a name of rxspeech models search, or the address or the file of a .tar.bz2'],
    flags: pullFlags,
    examples: [
      ['rxspeech models pull kroko-en', 'text while someone speaks English'],
      ['rxspeech models pull parakeet-v3 --mirror https://files.example.com/asr', 'from another place'],
      ['rxspeech models pull ./sherpa-onnx-whisper-tiny.tar.bz2', 'from a file, without a network'],
    ],
    run: pullOne,
  })
  defineCommand(command.command('remove').summary('remove a model of a folder'), context, {
    description:
      'Removes a version of a model, or all of its versions, after a question. A service that has loaded the model goes on with it until rxspeech reload, unless its engine process is started again.',
    argument: ['<model>', '[<tenant>/]<name>[/<version>]'],
    flags: removeFlags,
    run: removeModel,
  })
  defineCommand(command.command('lint').summary('check models: words, sounds, rules and loops'), context, {
    description:
      'Checks the files of models and prints all faults with their places: words that the dictionary lacks, phrases that sound alike, rules that cannot be reached, loops. Loads no engine. The exit code is 3 if there is an error.',
    argument: ['<models...>', 'folders, or [<tenant>/]<name>[/<version>]'],
    flags: modelReportFlags,
    examples: [['rxspeech models lint ./models', 'check all models of a folder']],
    run: lintModels,
  })
  const check = command.command('check').argument('<model>', 'a folder, or [<tenant>/]<name>[/<version>]')
  defineCommand(check.summary('load a model, and measure its speed, memory and words'), context, {
    description:
      'Loads a model in this process, reads the first 10 s of a recording, and prints how long loading and reading took, the memory, and the words. The exit code is 1 for a model that does not load, or whose engine fails.',
    argument: ['[file]', 'a WAV file (default: the call that comes with the package)'],
    flags: modelReportFlags,
    examples: [['rxspeech models check parakeet-v3 my.wav --models ./models', 'whether this machine is fast enough']],
    run: (call: CommandCall<typeof modelReportFlags, string | undefined>) => checkModel(call, check.args[0] ?? ''),
  })
  const hear = command.command('hear').argument('<model>', 'a folder, or [<tenant>/]<name>[/<version>]')
  defineCommand(hear.summary('recognize recordings with a model in this process'), context, {
    description:
      'Recognizes recordings with a model in this process, and shows each segment: its times, confidence, text and slots. The exit code is 3 if a file cannot be read.',
    argument: ['<files...>', 'WAV files, raw samples with --encoding, or - for standard input'],
    flags: hearFlags,
    examples: [
      ["rxspeech models hear orders 'calls/*.wav' --models ./models", 'what the newest orders makes of recordings'],
    ],
    run: (call: CommandCall<typeof hearFlags, readonly string[]>) => hearFiles(call, hear.args[0] ?? ''),
  })
  defineCommand(command.command('types').summary('write the TypeScript type of the slots of a model'), context, {
    description:
      'Writes the TypeScript type of the slots that tags of a grammar set, for recognize<…> and dataflow<…>: milestone.slots then has the names and values of this model.',
    argument: ['<model>', 'a folder, or [<tenant>/]<name>[/<version>]'],
    flags: typesFlags,
    examples: [
      ['rxspeech models types orders --models ./models --out src/orders.ts', 'the types of the newest orders'],
    ],
    run: writeTypes,
  })
}

/** The models of the folders, and their faults. Nothing is loaded. */
const listModels = ({
  flags: { models, json },
  host,
  output,
}: CommandCall<typeof modelReportFlags, undefined>): void => {
  const found = findModels(modelFolders(models, host))
  output.write(json ? `${JSON.stringify(found.map(modelJson))}\n` : modelTable(found))
}

const addOne = async (call: CommandCall<typeof addFlags, string | undefined>, name: string): Promise<void> => {
  const model = await addToModels(call, name)
  call.output.write(
    call.flags.json
      ? `${JSON.stringify(modelJson({ model }))}\n`
      : `The model ${model.tenant}/${model.name}/${model.version} is in ${model.folder}.\n`,
  )
}

const pullOne = async (call: CommandCall<typeof pullFlags, string>): Promise<void> => {
  const model = await pull(call)
  if (model !== undefined) call.output.write(`${JSON.stringify(modelJson({ model }))}\n`)
}

const stringOf = (value: unknown): string | null =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : null

/** The public part of `model.json`; the rest may name the locations of secrets. */
const modelJson = ({ model, problem }: FoundModel) => {
  const { tenant, name, version, folder, options } = model
  const presets = builtInEngines({}).find((kind) => kind.name === options.engine)?.presets
  const { sampleRateHz: rate, languages, language: known } = { ...presets, ...options }
  const language = stringOf(known)
  return {
    tenant,
    name,
    version,
    engine: options.engine === '' ? null : options.engine,
    sampleRateHz: typeof rate === 'number' ? rate : null,
    languages: Array.isArray(languages) ? languages.map(String) : language === null ? [] : [language],
    reads: folder === sampleModel() ? 'the sample call only' : options.engine === '' ? null : whatItReads(options),
    folder,
    problem: problem?.message ?? null,
  }
}

const titles = ['TENANT', 'NAME', 'VERSION', 'READS', 'ENGINE', 'RATE', 'LANGUAGES', 'PROBLEM']

const shownLanguage = (language: string): string => (language === 'auto' ? 'detected' : language)

/** A line for each model below a line of titles; only the titles if there is none. */
const modelTable = (models: readonly FoundModel[]): string => {
  const rows = models.map((found) => {
    const { tenant, name, version, reads, engine, sampleRateHz, languages, problem } = modelJson(found)
    const rate = sampleRateHz === null ? '-' : `${sampleRateHz} Hz`
    return [
      tenant,
      name,
      version,
      reads ?? '-',
      engine ?? '-',
      rate,
      languages.map(shownLanguage).join(',') || '-',
      problem ?? '-',
    ]
  })
  return tableText(titles, rows)
}
