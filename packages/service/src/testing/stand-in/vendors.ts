/** What a client needs to know of a stand-in. */
export interface StandInAddress {
  /** `http://host:port`, or `https:`. */
  readonly url: string
  /** `ws://host:port`, or `wss:`. */
  readonly wsUrl: string
  /** A key that it accepts. */
  readonly key: string
}

interface Vendor {
  /** What the names of its dialects begin with. */
  readonly dialects: string
  /** Environment variables that its clients read. */
  readonly env: (address: StandInAddress) => Readonly<Record<string, string>>
  /** How clients without such a variable are pointed at it. */
  readonly settings: (address: StandInAddress) => Readonly<Record<string, string>>
}

/** The services that a stand-in can stand for. */
export const vendors = {
  deepgram: {
    dialects: 'deepgram-',
    env: ({ key }) => ({ DEEPGRAM_API_KEY: key }),
    settings: ({ url, wsUrl, key }) => ({
      '@deepgram/sdk 5': `new DeepgramClient({ apiKey: '${key}', baseUrl: '${url}' })`,
      'deepgram-sdk': `environment=DeepgramClientEnvironment(base="${url}", production="${wsUrl}", agent="${wsUrl}", agent_rest="${url}")`,
      'livekit-plugins-deepgram': `base_url="${url}/v1/listen"`,
      'pipecat, Deepgram': `base_url="${url}"`,
    }),
  },
  openai: {
    dialects: 'openai-',
    env: ({ url, key }) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: key }),
    settings: ({ wsUrl }) => ({ 'pipecat, OpenAI realtime': `base_url="${wsUrl}/v1/realtime"` }),
  },
  rxspeech: {
    dialects: 'rxspeech',
    env: ({ key }) => ({ RXSPEECH_TOKEN: key }),
    settings: ({ wsUrl }) => ({ rxspeech: `recognize({ url: '${wsUrl}', token, model, format })` }),
  },
} as const satisfies Readonly<Record<string, Vendor>>

/** A service that a stand-in can stand for. */
export type StandInDialect = keyof typeof vendors
