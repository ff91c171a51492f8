/** Samples, for each channel. */
interface Samples {
  readonly sampleRateHz: number
  readonly channels: readonly Int16Array<ArrayBuffer>[]
}

/** Plays a part of the samples aloud, such as a word. */
export class Player {
  #context: AudioContext | undefined
  #playing: AudioBufferSourceNode | undefined

  /** Plays samples, all channels at once; `ended` is called when it ends by itself. */
  play({ sampleRateHz, channels }: Samples, ended: () => void = () => undefined): void {
    this.stop()
    const length = channels[0]?.length ?? 0
    if (length === 0) return ended()
    // A page gets its first AudioContext with the first click.
    const context = (this.#context ??= new AudioContext())
    void context.resume().catch(() => undefined)
    const buffer = context.createBuffer(channels.length, length, sampleRateHz)
    for (const [channel, samples] of channels.entries()) {
      // A loop, because `Float32Array.from` takes seconds for a long recording.
      const values = buffer.getChannelData(channel)
      for (let at = 0; at < length; at += 1) values[at] = (samples[at] ?? 0) / 32_768
    }
    const source = context.createBufferSource()
    source.buffer = buffer
    source.connect(context.destination)
    source.addEventListener('ended', () => {
      if (this.#playing === source) ended()
    })
    source.start()
    this.#playing = source
  }

  stop(): void {
    const playing = this.#playing
    this.#playing = undefined
    playing?.stop()
  }
}
