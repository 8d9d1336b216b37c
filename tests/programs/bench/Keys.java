import java.util.ArrayList;
import java.util.HashMap;

/** Maps and strings; the argument is the number of insertions in thousands. */
public class Keys {
    public static void main(String[] args) {
        int keys = Integer.parseInt(args[0]) * 100;
        long sum = 0;
        for (int turn = 0; turn < 10; turn++) {
            HashMap<String, ArrayList<Integer>> map = new HashMap<>();
            for (int i = 0; i < keys; i++) {
                map.computeIfAbsent("key " + i % (keys / 2), key -> new ArrayList<>()).add(i + turn);
            }
            for (ArrayList<Integer> list : map.values()) {
                sum += list.get(list.size() - 1);
            }
        }
        System.out.println(sum);
    }
}
