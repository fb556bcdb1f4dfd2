import XCTest

@testable import Attention

final class ModelTests: XCTestCase {
    func testEveryRowOfWeightsIsADistributionOverTheSource() throws {
        let answer = try Model().translate("september 27, 1994")
        XCTAssertFalse(answer.text.isEmpty)
        for row in answer.weights ?? [] {
            XCTAssertEqual(row.count, answer.sourceTokens.count)
            XCTAssertEqual(row.reduce(0, +), 1, accuracy: 1e-3)
        }
    }

    func testPiecesAreTheLongestThatFit() {
        let tokens = Tokens(kind: "subword", vocabulary: [nil, nil, nil, nil, " ", " a", "ab", "b"])
        let cut = tokens.split("ab?")
        XCTAssertEqual(cut.map(tokens.text), [" a", "b", "?"])
        XCTAssertEqual(cut.map(tokens.id(of:)), [5, 7, 3])
    }
}
