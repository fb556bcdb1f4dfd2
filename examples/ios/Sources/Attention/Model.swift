import Foundation
import TensorFlowLite

/// An answer; `weights[t][s]` says how much target token t looked at source token s.
public struct Answer {
    public let text: String
    public let confidence: Float
    public let cut: Bool
    public let sourceTokens: [String]
    public let targetTokens: [String]
    public let weights: [[Float]]?
}

/// The model of an export, by what its JSON says. Of one thread.
public final class Model {
    private let description: Description
    private let source: Tokens
    private let target: Tokens
    private let runner: SignatureRunner

    /// Tokens of the longest source that is read whole.
    public var longestSource: Int { description.longest_source }

    public init() throws {
        guard let json = Bundle.module.url(forResource: "model", withExtension: "json"),
            let file = Bundle.module.path(forResource: "model", ofType: "tflite")
        else { throw CocoaError(.fileNoSuchFile) }
        description = try JSONDecoder().decode(Description.self, from: Data(contentsOf: json))
        source = Tokens(kind: description.source_tokens, vocabulary: description.source_vocabulary)
        target = Tokens(kind: description.target_tokens, vocabulary: description.target_vocabulary)
        runner = try Interpreter(modelPath: file).signatureRunner(with: description.signature)
    }

    public func translate(_ text: String) throws -> Answer {
        let all = source.split(normalised(text))
        let tokens = all.prefix(longestSource)
        var ids = tokens.map(source.id(of:))
        ids += Array(repeating: 0, count: longestSource - ids.count) // zeros are padding
        try runner.invoke(with: [source.tensor: ids.withUnsafeBytes { Data($0) }])

        let numbers: [Int32] = try read(target.tensor)
        let answer = numbers.prefix { $0 != 0 }.map(target.token(of:))
        let confidence: [Float] = try read("confidence")
        return Answer(
            text: target.join(answer),
            confidence: confidence[0],
            cut: all.count > longestSource,
            sourceTokens: tokens.map(source.text),
            targetTokens: answer.map(target.text),
            weights: try weights(rows: answer.count, columns: tokens.count)
        )
    }

    private func normalised(_ text: String) -> String {
        switch description.normal_form {
        case "NFC": return text.precomposedStringWithCanonicalMapping
        case "NFD": return text.decomposedStringWithCanonicalMapping
        case "NFKC": return text.precomposedStringWithCompatibilityMapping
        case "NFKD": return text.decomposedStringWithCompatibilityMapping
        default: return text
        }
    }

    private func weights(rows: Int, columns: Int) throws -> [[Float]]? {
        guard runner.outputs.contains("attention_weights") else { return nil }
        let all: [Float] = try read("attention_weights") // row by row
        return (0..<rows).map { Array(all[($0 * longestSource)...].prefix(columns)) }
    }

    private func read<Number>(_ name: String) throws -> [Number] {
        try runner.output(named: name).data.withUnsafeBytes { Array($0.bindMemory(to: Number.self)) }
    }
}
