import type { RecognitionOptions, RejectLevel } from 'rxspeech'
import { isForOperators, type Model, type StudioConfig } from '../session/config.js'
import { listMicrophones } from '../session/microphone.js'
import { remembered, remember } from './memory.js'
import { keyOf, preferredModel, readsAnySpeech } from './model-order.js'
import { create, element, elementOf } from './page.js'

/** Where a fault is shown: beside what caused it. */
export type Way = 'file' | 'speak' | 'sample'

const languageNames = new Intl.DisplayNames('en', { type: 'language' })
const maxPhrases = 100

/** The first screen: three ways to begin, the model, and its options. */
export class StartView {
  readonly #model = elementOf(HTMLSelectElement, 'model')
  readonly #language = elementOf(HTMLSelectElement, 'language')
  readonly #reject = elementOf(HTMLSelectElement, 'reject')
  readonly #phrases = elementOf(HTMLTextAreaElement, 'phrases')
  #models: readonly Model[] = []

  constructor() {
    this.#model.addEventListener('change', () => {
      const model = this.model
      if (model !== undefined) remember('model', keyOf(model))
      this.#showModel()
    })
    element('token-form').addEventListener('submit', (event) => event.preventDefault())
    void this.listMicrophones()
  }

  /** The model for everything but the sample call. */
  get model(): Model | undefined {
    return this.#models[this.#model.selectedIndex]
  }

  /** What the options say, also those that the model has not. */
  get recognition(): RecognitionOptions {
    const phrases = this.#phrases.value.split('\n').map((line) => line.trim())
    const chosen = phrases.filter((phrase) => phrase !== '').slice(0, maxPhrases)
    const [language, reject] = [this.#language.value, this.#reject.value]
    return {
      ...(chosen.length > 0 && { phrases: chosen }),
      ...(language !== '' && { language }),
      ...(reject !== '' && { reject: reject as RejectLevel }),
    }
  }

  get deviceId(): string {
    return elementOf(HTMLSelectElement, 'devices').value
  }

  /** Offers what the service has. */
  show(config: StudioConfig): void {
    const { models, sampleCall, token } = config
    const others = models.filter(({ isSample }) => isSample !== true)
    this.#models = others.length > 0 ? others : models
    const options = this.#models.map((model) => new Option(titleOf(model)))
    this.#model.replaceChildren(...(options.length === 0 ? [new Option('No model')] : options))
    this.#model.selectedIndex = Math.max(0, preferredModel(this.#models, remembered('model')))
    element('way-sample').hidden = typeof sampleCall !== 'string'
    element('token-form').hidden = token !== null
    for (const id of ['choose-files', 'speak', 'play-sample']) {
      element(id).toggleAttribute('disabled', models.length === 0)
    }
    element('settings').hidden = models.length === 0
    this.#showModel()
  }

  #showModel(): void {
    const { model } = this
    const { languages = [] } = model ?? {}
    element('language-label').hidden = languages.length === 0
    this.#language.replaceChildren(
      new Option('as the model finds', ''),
      ...languages.map((code) => new Option(languageNames.of(code) ?? code, code)),
    )
    element('phrases-label').hidden = model?.takesPhrases === false
    element('reject-label').hidden = model === undefined || readsAnySpeech(model)
    const labels = ['language-label', 'phrases-label', 'reject-label']
    element('options').hidden = labels.every((id) => element(id).hidden)
  }

  /** Their names are known once a person has allowed one. */
  async listMicrophones(): Promise<void> {
    const devices = await listMicrophones()
    const options = devices.map(
      ({ deviceId, label }, index) => new Option(label || `Microphone ${index + 1}`, deviceId),
    )
    const { value } = elementOf(HTMLSelectElement, 'devices')
    element('devices').replaceChildren(...(options.length === 0 ? [new Option('Default microphone', '')] : options))
    if (options.some((option) => option.value === value)) elementOf(HTMLSelectElement, 'devices').value = value
    element('devices-label').hidden = options.length < 2
  }

  /** Shows what went wrong with one way, or nothing. */
  report(way: Way, ...sentences: readonly string[]): void {
    const fault = element(`${way}-error`)
    fault.hidden = sentences.length === 0
    fault.replaceChildren(...sentences.map((text) => create('span', { text })))
  }
}

const titleOf = ({ name, version, reads }: Model): string => {
  const title = version === '' || version === '1' ? name : `${name}, version ${version}`
  return reads === undefined ? title : `${title}: ${reads}`
}

export const enteredToken = (): string => elementOf(HTMLInputElement, 'token').value.trim()

/** Why no session can start. */
export const withoutModel = (config: StudioConfig): string | undefined =>
  config.models.length > 0 || isForOperators(config)
    ? undefined
    : config.token === null
      ? 'Enter a token below: this service gives none to pages. "rxspeech token --for-page" requests one.'
      : 'The service has no model. Start it with --models and a folder of models, then reload this page.'
