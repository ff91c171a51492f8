import type { EngineKind, ModelDescription } from '../engine.js'
import { findSherpaModel } from '../sherpa-onnx/find-model.js'
import { sherpaTypes } from '../sherpa-onnx/model-types.js'
import { requireSherpa } from '../sherpa-onnx/package.js'
import { sherpaOnnx } from '../sherpa-onnx/sherpa-onnx.js'
import type { CatalogueModel } from './catalogue-table.js'
import { filesOf, languagesOf } from './catalogue.js'

/** The content of `model.json` without further choices, and the files of the model. */
export interface DescribedFiles {
  readonly options: ModelDescription['options']
  readonly files: readonly string[]
}

/**
 * `model.json` of a model of the catalogue.
 *
 * @param language of sessions that name none. @default its only one; English where a session must have one
 */
export const describeModel = (known: CatalogueModel, language?: string): DescribedFiles => {
  const { type, layout, isLive } = known
  const types = sherpaTypes.filter(({ key }) => key === type)
  const own = types.find(({ streaming }) => streaming === isLive)
  const codes = languagesOf(known)
  const usual = codes.length === 1 ? codes[0] : own?.needsLanguage === true ? 'en' : undefined
  const chosen = language ?? usual
  // The type takes languages, but neither it nor the files list them.
  const names = type === 'transducer' && own?.language.by === 'stream' && codes.length > 1
  const options = {
    engine: 'sherpa-onnx',
    [type]: layout.parts,
    ...(layout.tokens !== undefined && { tokens: layout.tokens }),
    ...(types.some(({ streaming }) => streaming !== isLive) && { streaming: isLive }),
    ...(chosen !== undefined && { language: chosen }),
    ...(names && { languages: codes }),
  }
  return { options, files: filesOf(known) }
}

/** `model.json` of another archive, whose type its files show. */
export const describeFolder = async (folder: string, title: string, language?: string): Promise<DescribedFiles> => {
  const { options, files } = await findSherpaModel(folder, true, title)
  return { options: { engine: 'sherpa-onnx', ...options, ...(language !== undefined && { language }) }, files }
}

/** The engine of all published models. Throws `missing-dependency` without its package. */
export const publishedKind = (): EngineKind => {
  requireSherpa()
  return sherpaOnnx()
}
