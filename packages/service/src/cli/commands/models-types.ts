import { writeFile } from 'node:fs/promises'
import { parseGrammar } from 'rxspeech-engines/models/jsgf'
import { readModelGrammar } from 'rxspeech-engines/models/model-files'
import { modelLabel } from 'rxspeech-engines/models/model-json'
import { slotTypes } from 'rxspeech-engines/models/slot-types'
import { modelAt, modelFolders, namedModelFlags } from '../input/find-models.js'
import type { CommandCall } from '../parsing/command.js'
import { flag } from '../parsing/flags.js'
import { text } from '../parsing/values.js'
import { usageError } from '../process/failure.js'

export const typesFlags = { ...namedModelFlags, out: flag('<file>', 'write it to a file', text) }

/** The types of the slots of a grammar. Nothing is loaded. */
export const writeTypes = async ({
  argument,
  flags: { models, out },
  host,
  output,
}: CommandCall<typeof typesFlags, string>): Promise<void> => {
  const model = modelAt(argument, modelFolders(models, host))
  const { grammar } = model.options
  if (typeof grammar !== 'string') {
    throw usageError(`The model ${model.name} has no grammar, so it has no slots; "grammar" in model.json names one.`)
  }
  const { jsgf } = await readModelGrammar(model, 'grammar', grammar)
  const types = slotTypes(parseGrammar(jsgf), model.name, modelLabel(model))
  if (out === undefined) output.write(types)
  else {
    await writeFile(out, types).catch((error: unknown) => {
      throw usageError(`The file ${JSON.stringify(out)} cannot be written; check its folder.`, error)
    })
  }
}
