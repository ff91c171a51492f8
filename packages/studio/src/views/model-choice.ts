import type { Model, StudioConfig } from '../session/config.js'
import { element, elementOf } from './page.js'
import type { SourceKind } from './source-choice.js'

/** Offers the models of the service, and asks for a token if the service gives none to pages. */
export const renderModels = ({ models, token }: StudioConfig): void => {
  const options = models.map(({ name, version, reads, isSample }) => {
    const what = isSample === true ? 'the sample call only' : reads
    const title = version === '' ? name : `${name}, version ${version}`
    return new Option(what === undefined ? title : `${title}: ${what}`)
  })
  element('model').replaceChildren(...(options.length === 0 ? [new Option('No model')] : options))
  element('token-form').hidden = token !== null
}

export const chosenModel = (config: StudioConfig | undefined): Model | undefined =>
  config?.models[elementOf(HTMLSelectElement, 'model').selectedIndex]

/** Chooses the model of the sample call for that call, and another one, if there is one, for everything else. */
export const chooseModelFor = (source: SourceKind, config: StudioConfig | undefined): void => {
  const isSample = source === 'sample'
  if (config === undefined || (chosenModel(config)?.isSample === true) === isSample) return
  const at = config.models.findIndex((model) => (model.isSample === true) === isSample)
  if (at !== -1) elementOf(HTMLSelectElement, 'model').selectedIndex = at
}

const readsAnySpeech = ({ reads = '' }: Model): boolean => /^any |^\d+ languages$/.test(reads)

/** After a session without words: proposes a model for any speech in place of one that knows some sentences only. */
export const renderProposal = (config: StudioConfig | undefined, isWithoutWords: boolean): void => {
  const model = chosenModel(config)
  const better = config?.models.find(readsAnySpeech)
  const isShown = isWithoutWords && model !== undefined && better !== undefined && !readsAnySpeech(model)
  element('proposal').hidden = !isShown
  if (!isShown) return
  const reads = model.isSample === true ? 'the sample call' : (model.reads ?? 'its own sentences')
  element('proposal-text').textContent = `The model ${model.name} recognizes ${reads} only, and found none.`
  element('proposal-take').textContent = `Take ${better.name}: ${better.reads ?? ''}`
}

/** Chooses the model that was proposed. */
export const takeProposal = (config: StudioConfig | undefined): void => {
  element('proposal').hidden = true
  elementOf(HTMLSelectElement, 'model').selectedIndex = config?.models.findIndex(readsAnySpeech) ?? -1
}

/** Calls `entered` when a person has entered a token. */
export const listenToToken = (entered: () => void): void => {
  element('token-form').addEventListener('submit', (event) => {
    event.preventDefault()
    entered()
  })
  element('token').addEventListener('change', entered)
}

export const enteredToken = (): string => elementOf(HTMLInputElement, 'token').value.trim()

/** Why no session can start. */
export const withoutModel = ({ models, token }: StudioConfig): string | undefined =>
  models.length > 0
    ? undefined
    : token === null
      ? 'Enter a token above: this service gives none to pages. "rxspeech token --for-page" requests one.'
      : 'The service has no model. Start it with --models and a folder of models, then reload this page.'
