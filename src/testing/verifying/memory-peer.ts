import type { DataflowOptions } from '../../client/dataflow/dataflow.js'
import { completePreset } from '../../client/options.js'
import type { RecognizeOptions } from '../../client/recognizer/recognize-on.js'
import type { DataflowMessage, Dial, SocketMessage } from '../../transport/link.js'
import type { PresentedAddress } from '../../transport/memory/link.js'

/** The options in addition to a preset: the format of the audio, and each option to override. */
export type PresetOptions<Options extends { readonly format: unknown }> = Pick<Options, 'format'> & Partial<Options>

/** A service in memory, and the options of sessions with it. */
export interface MemoryPeer {
  /**
   * The options of `recognize` for a session with this service, on its clock: `recognize(service.recognizer({ format
   * }))`. The given options replace those of the service; options in `testing` are merged one by one.
   */
  recognizer(options: PresetOptions<RecognizeOptions>): RecognizeOptions
  /** The same for `dataflow`. */
  dataflow(options: PresetOptions<DataflowOptions>): DataflowOptions
  /** The `testing.dial` of these options, to be wrapped, for example by `linkFaults`. */
  readonly dials: MemoryDials
}

/** The connection of a session to a service in memory. */
export interface MemoryDials {
  /** Refuses a token that the service does not accept, in a header or a subprotocol, as a handshake does. */
  readonly recognizer: (address: PresentedAddress) => Dial<SocketMessage, SocketMessage>
  /** Connects a session of `dataflow`; its token is in the Start message. */
  readonly dataflow: () => Dial<DataflowMessage, DataflowMessage>
}

interface Presets {
  readonly recognizer: Omit<RecognizeOptions, 'format'>
  readonly dataflow: Omit<DataflowOptions, 'format'>
}

export const memoryPeer = (presets: Presets, dials: MemoryDials): MemoryPeer => ({
  recognizer: (options) =>
    completePreset(
      { ...presets.recognizer, testing: { ...presets.recognizer.testing, dial: dials.recognizer } },
      options,
    ),
  dataflow: (options) =>
    completePreset({ ...presets.dataflow, testing: { ...presets.dataflow.testing, dial: dials.dataflow } }, options),
  dials,
})
