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
