import type { Model } from '../session/config.js'
import { listMicrophones } from '../session/microphone.js'
import { microphoneSource, readAudioFile, recordingSource, type Recording, type Source } from '../session/sources.js'
import { element, elementOf } from './page.js'

export type SourceKind = 'sample' | 'microphone' | 'file'

/** The rate of microphones and files for models that take any. */
const defaultRateHz = 16_000

/** The source that a person has chosen for the next session. */
export class SourceChoice {
  readonly #changed: (kind: SourceKind) => void
  #kind: SourceKind = 'sample'
  #file: { readonly name: string; readonly recording: Recording } | undefined

  constructor(changed: (kind: SourceKind) => void) {
    this.#changed = changed
    element('source-sample').addEventListener('click', () => this.choose('sample'))
    element('source-microphone').addEventListener('click', () => {
      this.choose('microphone')
      void this.listMicrophones()
    })
    element('source-file').addEventListener('click', chooseFile)
  }

  get kind(): SourceKind {
    return this.#kind
  }

  choose(kind: SourceKind): void {
    this.#kind = kind
    for (const other of ['sample', 'microphone', 'file']) {
      element(`source-${other}`).setAttribute('aria-pressed', String(other === kind))
    }
    element('devices-label').hidden = kind !== 'microphone'
    this.#changed(kind)
  }

  /** Reads an audio file for a model, and chooses it. */
  async readFile(file: File, model: Model | undefined): Promise<void> {
    this.#file = { name: file.name, recording: await readAudioFile(file, model?.sampleRateHz ?? defaultRateHz) }
    this.choose('file')
  }

  /** The source for a session of a model; undefined if a person has to choose a file first. */
  async open(model: Model, loadSample: () => Promise<Blob>): Promise<Source | undefined> {
    const rate = model.sampleRateHz ?? defaultRateHz
    switch (this.#kind) {
      case 'microphone':
        return microphoneSource(elementOf(HTMLSelectElement, 'devices').value, rate === 8000 ? 8000 : 16_000)
      case 'file':
        if (this.#file !== undefined) return recordingSource(this.#file.recording, this.#file.name, [])
        chooseFile()
        return undefined
      case 'sample':
        return recordingSource(await readAudioFile(await loadSample(), rate), 'Sample call', ['Restaurant', 'Guest'])
    }
  }

  /** Their names are known once a person has allowed one. */
  async listMicrophones(): Promise<void> {
    const devices = await listMicrophones()
    const options = devices.map(
      ({ deviceId, label }, index) => new Option(label || `Microphone ${index + 1}`, deviceId),
    )
    element('devices').replaceChildren(...(options.length === 0 ? [new Option('Default microphone', '')] : options))
  }
}

const chooseFile = (): void => element('file').click()
